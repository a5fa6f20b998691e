// SPDX-License-Identifier: MIT
//
// The card of a motion: its view, and controls that a mouse or a keyboard moves.

import { timeRange } from './data.js';
import { fittingSpeed } from './playback.js';
import { PLANES, SideView } from './side_view.js';

const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4];
// steps of the slider over a motion
const SLIDER = 2000;

const ICONS = {
    play: 'M4 2.5v11l9-5.5z',
    pause: 'M4 3h3v10H4zM9 3h3v10H9z',
    first: 'M3 3h2v10H3zM13 3v10L6 8z',
    last: 'M11 3h2v10h-2zM3 3v10l7-5z',
    back: 'M11 3v10L4 8z',
    forward: 'M5 3v10l7-5z',
};

/** An element with properties and children. */
export function element(tag, properties = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
        if (name.startsWith('aria') || name === 'for' || name === 'role') {
            node.setAttribute(name.replace('aria', 'aria-').toLowerCase(), value);
        } else {
            node[name] = value;
        }
    }
    node.append(...children);
    return node;
}

function icon(name) {
    const space = 'http://www.w3.org/2000/svg';
    const svg = document.createElementNS(space, 'svg');
    svg.setAttribute('viewBox', '0 0 16 16');
    svg.setAttribute('aria-hidden', 'true');
    const path = document.createElementNS(space, 'path');
    path.setAttribute('d', ICONS[name]);
    svg.append(path);
    return svg;
}

function button(name, label, act) {
    const node = element('button', { type: 'button', title: label, ariaLabel: label }, icon(name));
    node.addEventListener('click', act);
    return node;
}

export class MotionCard {
    constructor(motion, clock, colours, hasTitle) {
        this.motion = motion;
        this.clock = clock;
        this.colours = colours;
        this.canvas = element('canvas', {
            role: 'img',
            tabIndex: 0,
            ariaLabel: `Side view of ${motion.name}; space plays, arrow keys step`,
        });
        this.view = new SideView(this.canvas, motion);
        this.node = element('section', { className: 'card motion' });
        const head = element('div', { className: 'head' },
            element('h2', { textContent: hasTitle ? motion.name : 'Motion' }), this.planes());
        this.node.append(head, this.canvas, this.controls());
        if (motion.variants.length > 1) {
            this.node.append(this.legend());
        }
        this.canvas.addEventListener('keydown', (event) => this.key(event));
        clock.listen(() => this.show());
        new ResizeObserver(() => this.resize()).observe(this.canvas);
    }

    // one of three planes
    planes() {
        const group = element('div', { className: 'switch', role: 'group', ariaLabel: 'Plane' });
        for (const plane of Object.keys(PLANES)) {
            const choice = element('button', {
                type: 'button',
                textContent: plane,
                title: `look at the ${plane} plane`,
                ariaPressed: String(plane === this.view.plane),
            });
            choice.addEventListener('click', () => {
                this.view.setPlane(plane);
                for (const other of group.children) {
                    other.setAttribute('aria-pressed', String(other === choice));
                }
                this.resize();
            });
            group.append(choice);
        }
        return group;
    }

    controls() {
        const { clock } = this;
        const [start, end] = timeRange(this.motion);
        this.playButton = button('play', 'play (space)', () => clock.toggle());
        this.playButton.classList.add('play');
        this.slider = element('input', {
            type: 'range', min: 0, max: SLIDER, step: 1, value: 0, ariaLabel: 'time',
        });
        this.slider.addEventListener('input', () => {
            // read before anything is shown, which moves the slider
            const time = start + (end - start) * this.slider.value / SLIDER;
            clock.pause();
            clock.set(time);
        });
        this.readout = element('output', { className: 'time' });
        this.digits = Math.max(2, Math.min(5, 2 - Math.floor(Math.log10(end - start || 1))));
        clock.speed = fittingSpeed(end - start, SPEEDS);
        const speed = element('select', { title: 'speed', ariaLabel: 'speed' });
        for (const value of SPEEDS) {
            speed.append(element('option', {
                value, textContent: `${value}\u00d7`, selected: value === clock.speed,
            }));
        }
        speed.addEventListener('change', () => {
            clock.speed = Number(speed.value);
        });
        return element('div', { className: 'controls' },
            button('first', 'to the start (Home)', () => this.jump(-Infinity)),
            button('back', 'one frame back (left arrow)', () => this.step(-1)),
            this.playButton,
            button('forward', 'one frame on (right arrow)', () => this.step(1)),
            button('last', 'to the end (End)', () => this.jump(Infinity)),
            this.slider, this.readout, speed,
            this.check('traces', 'hasTraces'), this.check('impulses', 'hasContacts'));
    }

    check(label, property) {
        const box = element('input', { type: 'checkbox', checked: this.view[property] });
        box.addEventListener('change', () => {
            this.view[property] = box.checked;
            this.show();
        });
        return element('label', {}, box, label);
    }

    // variants to show or hide
    legend() {
        const list = element('div', { className: 'legend' });
        this.motion.variants.forEach((variant, index) => {
            const box = element('input', { type: 'checkbox', checked: true });
            box.addEventListener('change', () => {
                this.view.hidden[box.checked ? 'delete' : 'add'](index);
                this.show();
            });
            const swatch = element('i', { className: index === 0 ? 'filled' : 'hollow' });
            swatch.style.setProperty('--swatch', `var(--series-${index % 8 + 1})`);
            list.append(element('label', {}, box, swatch, variant.name));
        });
        return list;
    }

    jump(time) {
        this.clock.pause();
        this.clock.set(time);
    }

    // to the next frame of the first variant
    step(by) {
        const { time } = this.motion.variants[0];
        const now = this.clock.time;
        const slack = 1e-9 * (1 + Math.abs(now));
        const next = by > 0 ? time.find((t) => t > now + slack)
            : time.slice().reverse().find((t) => t < now - slack);
        this.jump(next === undefined ? now : next);
    }

    key(event) {
        const acts = {
            ' ': () => this.clock.toggle(),
            ArrowLeft: () => this.step(-1),
            ArrowRight: () => this.step(1),
            Home: () => this.jump(-Infinity),
            End: () => this.jump(Infinity),
        };
        if (acts[event.key] && !event.ctrlKey && !event.altKey && !event.metaKey) {
            event.preventDefault();
            acts[event.key]();
        }
    }

    resize() {
        this.canvas.style.height = `${this.view.heightFor(this.canvas.clientWidth)}px`;
        this.view.resize();
        this.show();
    }

    recolour(colours) {
        this.colours = colours;
        this.show();
    }

    show() {
        if (!this.view.width) {
            return; // not on the page yet
        }
        const { clock } = this;
        const [start, end] = timeRange(this.motion);
        this.view.draw(Math.min(clock.time, end), this.colours);
        this.slider.value = Math.round(SLIDER * (clock.time - start) / (end - start || 1));
        const digits = this.digits;
        this.readout.textContent = `${clock.time.toFixed(digits)} / ${end.toFixed(digits)} s`;
        if (this.isShownPlaying !== clock.isPlaying) {
            this.isShownPlaying = clock.isPlaying;
            const label = clock.isPlaying ? 'pause (space)' : 'play (space)';
            this.playButton.replaceChildren(icon(clock.isPlaying ? 'pause' : 'play'));
            this.playButton.title = label;
            this.playButton.setAttribute('aria-label', label);
        }
    }
}
