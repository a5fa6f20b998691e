// SPDX-License-Identifier: MIT
//
// A motion seen along an axis of the world: ground, bodies, traces, impulses, on a canvas.

import { shade } from './colours.js';
import { contactsOf, frameAt, geomFrame, largestImpulse, posesAt, timeRange, turn }
    from './data.js';
import { outline, polyhedron, reach, seams, toWorld } from './shapes.js';

// what a plane of projection shows to the right and up, and where the viewer stands
export const PLANES = {
    xz: { right: [1, 0, 0], up: [0, 0, 1], out: [0, -1, 0] },
    xy: { right: [1, 0, 0], up: [0, 1, 0], out: [0, 0, 1] },
    yz: { right: [0, 1, 0], up: [0, 0, 1], out: [1, 0, 0] },
};

// room around the motion as part of it, and space for the numbers of the axes in pixels
const MARGIN = 0.08;
const AXIS = { left: 46, bottom: 26, top: 12, right: 14 };
// height of a view, pixels
const LEAST = 260;
const MOST = 470;
// longest arrow of an impulse, pixels; part of the motion over which an impact fades
const ARROW = 70;
const FADE = 0.05;
// shapes that are looked at to find how far a motion reaches
const BOUNDS = 4000;
// bodies that leave a trace
const TRACES = 12;
// light from above, a little to the right and from the viewer
const LIGHT = [0.25, 0.45, 0.86];

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/** The plane in which bodies move most; xz unless another is clearly better. */
export function bestPlane(motion) {
    // how far the one that moves most along an axis gets
    const way = [0, 0, 0];
    for (const { bodies, poses } of motion.variants) {
        bodies.forEach((body, b) => way.forEach((_, k) => {
            let low = Infinity;
            let high = -Infinity;
            for (const frame of poses) {
                low = Math.min(low, frame[7 * b + k]);
                high = Math.max(high, frame[7 * b + k]);
            }
            way[k] = Math.max(way[k], high - low);
        }));
    }
    const [x, y, z] = way;
    if (z < 0.2 * Math.min(x, y)) {
        return 'xy';
    }
    return x < 0.5 * y ? 'yz' : 'xz';
}

export class SideView {
    constructor(canvas, motion) {
        this.canvas = canvas;
        this.motion = motion;
        this.plane = bestPlane(motion);
        this.hidden = new Set(); // variants that are not drawn
        this.hasTraces = true;
        this.hasContacts = true;
        this.largest = largestImpulse(motion);
        this.duration = timeRange(motion)[1] - timeRange(motion)[0];
    }

    setPlane(plane) {
        this.plane = plane;
        this.box = null;
    }

    /** Takes the size of the canvas on the page; call when it has changed. */
    resize() {
        const { clientWidth, clientHeight } = this.canvas;
        this.ratio = window.devicePixelRatio || 1;
        this.canvas.width = Math.round(clientWidth * this.ratio);
        this.canvas.height = Math.round(clientHeight * this.ratio);
        this.width = clientWidth;
        this.height = clientHeight;
        this.box = null;
    }

    // what all variants reach over all time, in the plane of projection
    bounds() {
        this.boundsOf ??= {};
        this.boundsOf[this.plane] ??= this.findBounds();
        return this.boundsOf[this.plane];
    }

    findBounds() {
        const { right, up } = PLANES[this.plane];
        const box = { low: [Infinity, Infinity], high: [-Infinity, -Infinity] };
        const axes = [right, up];
        const add = (k, low, high) => {
            box.low[k] = Math.min(box.low[k], low);
            box.high[k] = Math.max(box.high[k], high);
        };
        const addPoint = (point) => axes.forEach((d, k) => add(k, dot(point, d), dot(point, d)));
        const addGeom = (geom, frame) => axes.forEach((d, k) => {
            add(k, -reach(geom, frame, d.map((value) => -value)), reach(geom, frame, d));
        });
        for (const variant of this.motion.variants) {
            // some frames tell enough
            const n = Math.min(120, Math.max(10, BOUNDS / variant.geoms.length));
            const stride = Math.max(1, Math.floor(variant.time.length / n));
            for (let i = 0; i < variant.time.length; i += stride) {
                const poses = posesAt(variant, variant.time[i]);
                for (const geom of variant.geoms) {
                    if (geom.body >= 0 && geom.kind !== 'plane') {
                        addGeom(geom, geomFrame(geom, poses));
                    }
                }
                poses.forEach(addPoint);
            }
        }
        this.motion.markers.forEach((marker) => addPoint(marker.point));
        this.addStill(box, addGeom);
        if (!(box.high[0] >= box.low[0])) {
            [0, 1].forEach((k) => add(k, -1, 1));
        }
        return box;
    }

    // what stands beside the motion belongs to the picture, what is far away does not
    addStill(box, addGeom) {
        const { right, up } = PLANES[this.plane];
        const size = Math.max(box.high[0] - box.low[0], box.high[1] - box.low[1]);
        for (const geom of this.motion.variants[0].geoms) {
            if (geom.body >= 0 || geom.kind === 'plane') {
                continue;
            }
            const frame = geomFrame(geom, []);
            const isNear = [right, up].every((d, k) => {
                const far = size + box.high[k] - dot(frame.pos, d);
                return far >= 0 && far <= 2 * size + box.high[k] - box.low[k];
            });
            if (isNear) {
                addGeom(geom, frame);
            }
        }
    }

    /** Height that suits a width: the motion fills it, within limits. */
    heightFor(width) {
        const box = this.bounds();
        const size = [0, 1].map((k) => Math.max(box.high[k] - box.low[k], 1e-6));
        const wanted = (width - AXIS.left - AXIS.right) * size[1] / size[0];
        return Math.round(Math.min(Math.max(wanted + AXIS.top + AXIS.bottom, LEAST), MOST));
    }

    // from metres to pixels: equal scales, the motion in the middle
    fit() {
        const box = this.bounds();
        const size = [0, 1].map((k) => Math.max(box.high[k] - box.low[k], 1e-6) * (1 + 2 * MARGIN));
        const room = [this.width - AXIS.left - AXIS.right, this.height - AXIS.top - AXIS.bottom];
        this.scale = Math.max(Math.min(room[0] / size[0], room[1] / size[1]), 1e-9);
        const centre = [0, 1].map((k) => 0.5 * (box.low[k] + box.high[k]));
        this.origin = [
            AXIS.left + 0.5 * room[0] - this.scale * centre[0],
            AXIS.top + 0.5 * room[1] + this.scale * centre[1],
        ];
        this.box = box;
    }

    at(point) {
        const { right, up } = PLANES[this.plane];
        return [
            this.origin[0] + this.scale * dot(point, right),
            this.origin[1] - this.scale * dot(point, up),
        ];
    }

    draw(time, colours) {
        if (!this.box) {
            this.fit();
        }
        const context = this.canvas.getContext('2d');
        this.context = context;
        this.colours = colours;
        context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
        context.clearRect(0, 0, this.width, this.height);
        this.drawGrid();
        context.save();
        context.beginPath();
        context.rect(AXIS.left, AXIS.top, this.width - AXIS.left - AXIS.right,
            this.height - AXIS.top - AXIS.bottom);
        context.clip();
        const shown = this.motion.variants
            .map((variant, index) => ({ variant, index }))
            .filter(({ index }) => !this.hidden.has(index));
        if (shown.length > 0) {
            this.drawPlanes(shown[0].variant);
        }
        if (this.hasTraces) {
            shown.forEach(({ variant, index }) => this.drawTraces(variant, index, time));
        }
        // the first one is drawn filled, above the others
        for (const { variant, index } of shown.slice().reverse()) {
            this.drawBodies(variant, index, posesAt(variant, time));
        }
        this.drawMarkers();
        if (this.hasContacts && this.largest > 0) {
            shown.forEach(({ variant, index }) => this.drawContacts(variant, index, time));
        }
        context.restore();
    }

    // ---- grid -------------------------------------------------------------------------------------

    drawGrid() {
        const { context, colours } = this;
        // lines at round numbers, at least 44 pixels apart
        const raw = 44 / this.scale;
        const power = 10 ** Math.floor(Math.log10(raw));
        const step = power * [1, 2, 5, 10].find((k) => k * power >= raw * 0.999);
        const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
        const text = (i) => (i * step).toFixed(digits).replace('-', '\u2212');
        const edge = { right: this.width - AXIS.right, bottom: this.height - AXIS.bottom };
        context.font = '11px Inter, system-ui, sans-serif';
        context.lineWidth = 1;
        context.strokeStyle = colours.line;
        context.fillStyle = colours.dim;
        context.textAlign = 'center';
        context.textBaseline = 'top';
        const low = Math.ceil((AXIS.left - this.origin[0]) / this.scale / step);
        const high = Math.floor((edge.right - this.origin[0]) / this.scale / step);
        for (let i = low; i <= high; i++) {
            const x = Math.round(this.origin[0] + i * step * this.scale) + 0.5;
            this.segment([x, AXIS.top], [x, edge.bottom]);
            if (x < edge.right - 34) {
                context.fillText(text(i), x, edge.bottom + 6);
            }
        }
        context.textAlign = 'right';
        context.textBaseline = 'middle';
        const bottom = Math.ceil((this.origin[1] - edge.bottom) / this.scale / step);
        const top = Math.floor((this.origin[1] - AXIS.top) / this.scale / step);
        for (let i = bottom; i <= top; i++) {
            const y = Math.round(this.origin[1] - i * step * this.scale) + 0.5;
            this.segment([AXIS.left, y], [edge.right, y]);
            if (y > AXIS.top + 18) {
                context.fillText(text(i), AXIS.left - 6, y);
            }
        }
        context.fillStyle = colours.text;
        context.textBaseline = 'top';
        context.fillText(`${this.plane[0]} / m`, edge.right, edge.bottom + 6);
        context.fillText(`${this.plane[1]} / m`, AXIS.left - 6, AXIS.top);
    }

    segment(a, b) {
        this.context.beginPath();
        this.context.moveTo(a[0], a[1]);
        this.context.lineTo(b[0], b[1]);
        this.context.stroke();
    }

    polygon(points) {
        const { context } = this;
        context.beginPath();
        points.forEach((point, i) => {
            if (i === 0) {
                context.moveTo(point[0], point[1]);
            } else {
                context.lineTo(point[0], point[1]);
            }
        });
        context.closePath();
    }

    // ---- planes -----------------------------------------------------------------------------------

    // the ground, where it is seen from the side
    drawPlanes(variant) {
        const { context, colours } = this;
        const { right, up } = PLANES[this.plane];
        for (const geom of variant.geoms) {
            if (geom.kind !== 'plane') {
                continue;
            }
            const frame = geomFrame(geom, []);
            const normal = turn(frame.R, [0, 0, 1]);
            const n = [dot(normal, right), -dot(normal, up)];
            const length = Math.hypot(n[0], n[1]);
            if (length < 0.05) {
                continue; // seen from above: all of the picture
            }
            n[0] /= length;
            n[1] /= length;
            const along = [-n[1], n[0]];
            const at = this.at(frame.pos);
            const far = 4 * (this.width + this.height);
            // from the nearest point to the middle of the picture
            const shift = (0.5 * this.width - at[0]) * along[0] +
                (0.5 * this.height - at[1]) * along[1];
            const middle = [at[0] + shift * along[0], at[1] + shift * along[1]];
            const corner = (s, depth) => [middle[0] + s * far * along[0] - depth * n[0],
                middle[1] + s * far * along[1] - depth * n[1]];
            this.polygon([corner(-1, 0), corner(1, 0), corner(1, far), corner(-1, far)]);
            context.fillStyle = colours.ground;
            context.fill();
            context.strokeStyle = colours.dim;
            context.lineWidth = 1.5;
            this.segment(corner(-1, 0), corner(1, 0));
        }
    }

    // ---- bodies -----------------------------------------------------------------------------------

    colourOf(variant, index, geom) {
        const { colours } = this;
        if (geom.body < 0) {
            return colours.still;
        }
        // several variants: a colour each; one: a colour for each body
        const number = this.motion.variants.length > 1 ? index : geom.body;
        return colours.series[number % colours.series.length];
    }

    drawBodies(variant, index, poses) {
        const { out } = PLANES[this.plane];
        const isFilled = index === 0;
        const things = variant.geoms
            .filter((geom) => geom.kind !== 'plane' && (isFilled || geom.body >= 0))
            .map((geom) => ({ geom, frame: geomFrame(geom, poses) }));
        things.sort((a, b) => dot(a.frame.pos, out) - dot(b.frame.pos, out));
        for (const { geom, frame } of things) {
            const colour = this.colourOf(variant, index, geom);
            if (polyhedron(geom)) {
                this.drawFaces(geom, frame, colour, isFilled);
            } else {
                this.drawRound(geom, frame, colour, isFilled);
            }
        }
    }

    // the faces of a convex shape that look at the viewer do not hide each other
    drawFaces(geom, frame, colour, isFilled) {
        const { context } = this;
        const { right, up, out } = PLANES[this.plane];
        const { vertices, faces, isSmooth } = polyhedron(geom);
        const world = [];
        for (let i = 0; i < vertices.length; i += 3) {
            world.push(toWorld(frame, vertices.slice(i, i + 3)));
        }
        for (const face of faces) {
            const normal = normalOf(face.map((i) => world[i]));
            if (dot(normal, out) <= 1e-9) {
                continue;
            }
            const light = dot([dot(normal, right), dot(normal, out), dot(normal, up)],
                [LIGHT[0], LIGHT[1], LIGHT[2]]);
            this.polygon(face.map((i) => this.at(world[i])));
            context.lineJoin = 'round';
            if (isFilled) {
                const tone = shade(colour, 0.35 * light);
                context.fillStyle = tone;
                context.fill();
                context.lineWidth = 1;
                context.strokeStyle = isSmooth && face.length === 4 ? tone : shade(colour, -0.35);
            } else {
                context.lineWidth = 1.25;
                context.strokeStyle = shade(colour, 0, isSmooth && face.length === 4 ? 0.3 : 0.9);
            }
            context.stroke();
        }
    }

    drawRound(geom, frame, colour, isFilled) {
        const { context } = this;
        const { right, up } = PLANES[this.plane];
        const points = outline(geom, frame, right, up).map((point) => this.at(point));
        this.polygon(points);
        context.lineWidth = isFilled ? 1 : 1.5;
        context.strokeStyle = isFilled ? shade(colour, -0.35) : shade(colour, 0, 0.9);
        if (isFilled) {
            context.fillStyle = shade(colour, 0.12);
            context.fill();
        }
        context.stroke();
        context.lineWidth = 1;
        context.strokeStyle = isFilled ? shade(colour, -0.35, 0.8) : shade(colour, 0, 0.5);
        for (const curve of seams(geom)) {
            this.drawSeam(curve, frame);
        }
    }

    // the part of a curve on a surface that is on the viewer's side
    drawSeam(curve, frame) {
        const { context } = this;
        const { out } = PLANES[this.plane];
        const level = dot(frame.pos, out);
        context.beginPath();
        let isDrawing = false;
        for (const local of curve) {
            const point = toWorld(frame, local);
            const isSeen = dot(point, out) >= level - 1e-12;
            const [x, y] = this.at(point);
            if (isSeen && isDrawing) {
                context.lineTo(x, y);
            } else if (isSeen) {
                context.moveTo(x, y);
            }
            isDrawing = isSeen;
        }
        context.stroke();
    }

    // ---- traces, markers, contacts ----------------------------------------------------------------

    drawTraces(variant, index, time) {
        const { context } = this;
        const n = Math.min(variant.bodies.length, TRACES);
        for (let body = 0; body < n; body++) {
            const colour = this.colourOf(variant, index, { body });
            const path = (from, to, extra) => {
                context.beginPath();
                for (let i = from; i <= to; i++) {
                    context.lineTo(...this.at(variant.poses[i].slice(7 * body, 7 * body + 3)));
                }
                if (extra) {
                    context.lineTo(...extra);
                }
                context.stroke();
            };
            const frame = frameAt(variant, time);
            context.lineWidth = 1.25;
            context.strokeStyle = shade(colour, 0, 0.3);
            path(Math.max(frame - 1, 0), variant.time.length - 1);
            context.lineWidth = 1.75;
            context.strokeStyle = shade(colour, 0, 0.8);
            path(0, Math.max(frame - 1, 0), this.at(posesAt(variant, time)[body]));
        }
    }

    // markers by where they are seen, so that names do not stand on one another
    markersByPlace() {
        const places = new Map();
        for (const marker of this.motion.markers) {
            const at = this.at(marker.point);
            const key = at.map(Math.round).join();
            const place = places.get(key) ?? { at, names: new Set() };
            places.set(key, place);
            place.names.add(marker.name);
        }
        return places.values();
    }

    drawMarkers() {
        const { context, colours } = this;
        context.font = '12px Inter, system-ui, sans-serif';
        context.textBaseline = 'bottom';
        context.lineWidth = 1.75;
        for (const { at, names } of this.markersByPlace()) {
            const [x, y] = at;
            const [first] = names;
            const text = names.size > 1 ? `${first} and ${names.size - 1} more` : first;
            context.strokeStyle = colours.marker;
            context.beginPath();
            context.arc(x, y, 6, 0, 2 * Math.PI);
            context.stroke();
            this.segment([x - 10, y], [x + 10, y]);
            this.segment([x, y - 10], [x, y + 10]);
            context.fillStyle = colours.text;
            const { width } = context.measureText(text);
            const isRight = x + 12 + width < this.width - AXIS.right;
            context.textAlign = isRight ? 'left' : 'right';
            context.fillText(text, isRight ? x + 9 : x - 9, y - 5);
        }
    }

    // impacts fade, resting contacts show while they act
    drawContacts(variant, index, time) {
        const fade = FADE * this.duration;
        const now = frameAt(variant, time);
        for (let i = now; i >= 0 && variant.time[i] >= time - fade; i--) {
            for (const contact of contactsOf(variant, i)) {
                const age = Math.max(time - variant.time[i], 0) / (fade || 1);
                const isSeen = i === now || contact.isImpact;
                // a frame that is still to come has not acted
                if (isSeen && variant.time[i] <= time + 1e-9 + this.spacing(variant, i)) {
                    this.drawArrow(contact, (index === 0 ? 1 : 0.5) * (1 - age));
                }
            }
        }
    }

    spacing(variant, i) {
        return i > 0 ? variant.time[i] - variant.time[i - 1] : 0;
    }

    drawArrow(contact, alpha) {
        const { context, colours } = this;
        const { right, up } = PLANES[this.plane];
        const strength = Math.hypot(...contact.impulse);
        // by the root, so that weak ones are seen beside strong ones
        const length = ARROW * Math.sqrt(strength / this.largest) / (strength || 1);
        const way = [length * dot(contact.impulse, right), -length * dot(contact.impulse, up)];
        const size = Math.hypot(...way);
        if (size < 2) {
            return;
        }
        const from = this.at(contact.point);
        const to = [from[0] + way[0], from[1] + way[1]];
        const unit = [way[0] / size, way[1] / size];
        const head = Math.min(9, 0.5 * size);
        const neck = [to[0] - head * unit[0], to[1] - head * unit[1]];
        context.globalAlpha = Math.max(alpha, 0);
        context.strokeStyle = colours.impulse;
        context.fillStyle = colours.impulse;
        context.lineWidth = 2.25;
        this.segment(from, neck);
        this.polygon([to, [neck[0] - 0.45 * head * unit[1], neck[1] + 0.45 * head * unit[0]],
            [neck[0] + 0.45 * head * unit[1], neck[1] - 0.45 * head * unit[0]]]);
        context.fill();
        context.globalAlpha = 1;
    }
}

// outward normal of a face by all its corners
function normalOf(points) {
    const normal = [0, 0, 0];
    points.forEach((a, i) => {
        const b = points[(i + 1) % points.length];
        normal[0] += (a[1] - b[1]) * (a[2] + b[2]);
        normal[1] += (a[2] - b[2]) * (a[0] + b[0]);
        normal[2] += (a[0] - b[0]) * (a[1] + b[1]);
    });
    const length = Math.hypot(...normal) || 1;
    return normal.map((value) => value / length);
}
