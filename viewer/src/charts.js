// SPDX-License-Identifier: MIT
//
// Curves, drawn by uPlot. Charts over time share their cursor, show the time of the motion as a line,
// and set it by a click.

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

import { element } from './motion.js';

const HEIGHT = 190;
const FONT = '11px Inter, system-ui, sans-serif';

/** Equal ones of a sorted list apart by their last bits: tables that are joined have one point an x. */
function apart(x) {
    let last = -Infinity;
    return x.map((value) => {
        last = value > last ? value : last + Math.max(Math.abs(last) * Number.EPSILON, Number.MIN_VALUE);
        return last;
    });
}

/** All series of a chart over one list of x. */
function tableOf(chart) {
    const tables = chart.series.map((series) => [apart(series.x), ...series.lines.map((line) => {
        // a logarithm has no place for zero
        return chart.log ? line.y.map((y) => (y > 0 ? y : null)) : line.y;
    })]);
    return tables.length === 1 ? tables[0] : uPlot.join(tables, tables.map((table) => {
        // where another series has a point and this one has none, its line goes on
        return table.map(() => 1);
    }));
}

// a line up from zero for every point
function stems(u, index, first, last) {
    const path = new Path2D();
    const zero = u.valToPos(0, 'y', true);
    for (let i = first; i <= last; i++) {
        const y = u.data[index][i];
        if (y !== null && y !== undefined && y !== 0) {
            const x = u.valToPos(u.data[0][i], 'x', true);
            path.moveTo(x, zero);
            path.lineTo(x, u.valToPos(y, 'y', true));
        }
    }
    return { stroke: path, fill: null };
}

const STYLES = {
    solid: () => ({ width: 1.5, points: { show: false } }),
    dashed: () => ({ width: 1.5, dash: [6, 4], points: { show: false } }),
    points: (colour) => ({ width: 0, paths: () => null,
        points: { show: true, size: 5, stroke: colour, width: 1 } }),
    stems: () => ({ width: 1.5, paths: stems, points: { show: false } }),
};

const MINUS = '\u2212';

/** A number of five digits; a dash when there is none. */
function formatted(value) {
    if (value === null || value === undefined) {
        return '\u2013';
    }
    const size = Math.abs(value);
    const isPlain = size === 0 || (size >= 1e-3 && size < 1e6);
    const text = isPlain ? Number(value.toPrecision(5)).toString()
        : value.toExponential(3).replace(/\.?0+e/, 'e').replace('e+', 'e');
    return text.replaceAll('-', MINUS);
}

/** Where a logarithmic axis has lines: at powers of ten, or within less than two of them at round numbers. */
function powerSplits(u, axis, low, high) {
    const [first, last] = [low, high].map((value) => Math.log10(value));
    const isShort = last - first < 2;
    const stride = isShort ? 1 : Math.ceil((last - first) / 6);
    const found = (digits) => {
        const list = [];
        for (let k = Math.floor(first / stride); k * stride <= last; k++) {
            list.push(...digits.map((digit) => digit * 10 ** (k * stride)));
        }
        return list.filter((value) => value > low * (1 - 1e-9) && value < high * (1 + 1e-9));
    };
    const round = found(isShort ? [1, 2, 5] : [1]);
    return round.length > 1 ? round : found([1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

function powerTexts(u, values) {
    if (Math.max(...values) < 100 * Math.min(...values)) {
        return values.map(formatted);
    }
    return values.map((value) => `1e${Math.round(Math.log10(value))}`.replace('-', MINUS));
}

/** Numbers of an axis: all plain, or all with exponents. */
function tickTexts(u, values) {
    const largest = Math.max(...values.map((value) => Math.abs(value)));
    const isPlain = largest === 0 || (largest >= 1e-3 && largest < 1e5);
    return values.map((value) => {
        const text = isPlain || value === 0 ? Number(value.toPrecision(6)).toString()
            : value.toExponential(3).replace(/\.?0+e/, 'e').replace('e+', 'e');
        return text.replaceAll('-', MINUS);
    });
}

function options(chart, colours, width, show) {
    const isTime = chart.x === null;
    const axis = {
        stroke: colours.dim,
        font: FONT,
        grid: { stroke: colours.line, width: 1 },
        ticks: { stroke: colours.line, width: 1, size: 4 },
    };
    const lines = chart.series.flatMap((series) => series.lines);
    const xUnit = isTime ? 's' : chart.xUnit;
    const series = [{
        label: isTime ? 't' : chart.x,
        value: (u, value) => formatted(value) + (xUnit && value !== null ? ` ${xUnit}` : ''),
    }];
    let number = 0;
    const hasCurves = lines.some((line) => line.style !== 'points');
    lines.forEach((line) => {
        // recorded points are neutral, under the curves that explain them
        const colour = hasCurves && line.style === 'points' ? colours.dim
            : colours.series[number++ % colours.series.length];
        series.push({
            label: line.name,
            stroke: colour,
            spanGaps: false,
            pxAlign: 0,
            value: (u, value) => formatted(value),
            ...STYLES[line.style](colour),
        });
    });
    return {
        width,
        height: HEIGHT,
        pxAlign: false,
        padding: [8, 12, 0, 0],
        series,
        legend: { live: true },
        hooks: { ready: [show], setScale: [show] },
        cursor: {
            sync: isTime ? { key: `carom ${chart.motion}`, setSeries: false } : undefined,
            drag: { x: true, y: false },
            points: { size: 6 },
        },
        scales: {
            x: { time: false },
            y: { distr: chart.log ? 3 : 1 },
        },
        axes: [
            { ...axis, size: 30, gap: 4, values: tickTexts },
            { ...axis, size: 54, gap: 4, values: chart.log ? powerTexts : tickTexts,
                ...(chart.log ? { splits: powerSplits } : {}), filter: (u, splits) => splits },
        ],
    };
}

// index of the value of an ascending list that is nearest
function nearest(list, value) {
    let low = 0;
    let high = list.length - 1;
    while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (list[middle] < value) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return value - list[low] < list[high] - value ? low : high;
}

export class ChartCard {
    constructor(chart, clock, colours) {
        this.chart = chart;
        this.clock = clock;
        this.colours = colours;
        this.isTime = chart.x === null;
        this.place = element('div', { className: 'plot-area' });
        const title = element('h2', { textContent: chart.title });
        const unit = [chart.y, chart.unit].filter(Boolean).join(', ');
        if (unit) {
            title.append(element('span', { className: 'unit', textContent: unit }));
        }
        this.node = element('section', { className: 'card chart' }, title, this.place);
        if (!this.isTime) {
            const text = [chart.x, chart.xUnit].filter(Boolean).join(' / ');
            this.node.append(element('p', { className: 'x-label', textContent: text }));
        }
        if (clock) {
            clock.listen(() => this.mark());
        }
    }

    /** Draws; before that the card is only its room. */
    make() {
        if (this.plot) {
            this.plot.destroy();
            this.line = null;
        }
        const width = this.place.clientWidth;
        this.width = width;
        this.plot = new uPlot(options(this.chart, this.colours, width, () => this.mark()),
            tableOf(this.chart), this.place);
        // when the mouse leaves, the values are those of the motion's time again
        this.plot.over.addEventListener('mouseleave', () => setTimeout(() => this.mark()));
        if (this.isTime && this.clock) {
            this.line = element('div', { className: 'now' });
            this.plot.over.append(this.line);
            this.plot.over.addEventListener('click', () => {
                const { left } = this.plot.cursor;
                if (left >= 0) {
                    this.clock.pause();
                    this.clock.set(this.plot.posToVal(left, 'x'));
                }
            });
        }
    }

    resize() {
        const width = this.place.clientWidth;
        if (this.plot && width > 0 && width !== this.width) {
            this.width = width;
            this.plot.setSize({ width, height: HEIGHT });
            this.mark();
        }
    }

    recolour(colours) {
        this.colours = colours;
        if (this.plot) {
            this.make();
        }
    }

    // the time of the motion, and the values then unless the mouse asks for others
    mark() {
        if (!this.line) {
            const last = this.plot ? this.plot.data[0].length - 1 : -1;
            if (last >= 0 && !(this.plot.cursor.left >= 0)) {
                this.plot.setLegend({ idx: last }, false); // the result
            }
            return;
        }
        if (!(this.plot.cursor.left >= 0)) {
            this.plot.setLegend({ idx: nearest(this.plot.data[0], this.clock.time) }, false);
        }
        const { min, max } = this.plot.scales.x;
        const isIn = this.clock.time >= min && this.clock.time <= max;
        this.line.hidden = !isIn;
        if (isIn) {
            const left = this.plot.valToPos(this.clock.time, 'x');
            this.line.style.transform = `translateX(${left}px)`;
        }
    }
}
