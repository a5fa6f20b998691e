// SPDX-License-Identifier: MIT
//
// Curves, drawn by uPlot. Charts over time share their cursor, show the time of the motion as a line,
// and set it by a click.

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

import { element } from './motion.js';

const HEIGHT = 190;
const FONT = '11px system-ui, sans-serif';
const SYNC = 'carom';

/** All series of a chart over one list of x. */
function tableOf(chart) {
    const tables = chart.series.map((series) => [series.x, ...series.lines.map((line) => {
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
        points: { show: true, size: 4, stroke: colour, fill: colour } }),
    stems: () => ({ width: 1.5, paths: stems, points: { show: false } }),
};

function formatted(value) {
    if (value === null || value === undefined) {
        return '\u2013';
    }
    return Number(value.toPrecision(5)).toString().replace('-', '\u2212').replace(/e([+-])/, 'e$1');
}

/** Numbers of an axis, with as many digits as its steps need. */
function tickTexts(u, values) {
    return values.map((value) => (value === null ? '' : formatted(value)));
}

function options(chart, colours, width) {
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
    lines.forEach((line, i) => {
        const colour = colours.series[i % colours.series.length];
        series.push({
            label: line.name,
            stroke: colour,
            spanGaps: false,
            value: (u, value) => formatted(value),
            ...STYLES[line.style](colour),
        });
    });
    return {
        width,
        height: HEIGHT,
        padding: [8, 12, 0, 0],
        series,
        legend: { live: true },
        cursor: {
            sync: isTime ? { key: SYNC, setSeries: false } : undefined,
            drag: { x: true, y: false },
            points: { size: 6 },
        },
        scales: {
            x: { time: false },
            y: { distr: chart.log ? 3 : 1 },
        },
        axes: [
            { ...axis, size: 30, gap: 4, values: tickTexts },
            { ...axis, size: 54, gap: 4, values: chart.log ? undefined : tickTexts },
        ],
    };
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
        }
        const width = this.place.clientWidth;
        this.width = width;
        this.plot = new uPlot(options(this.chart, this.colours, width), tableOf(this.chart),
            this.place);
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
            this.mark();
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

    // the time of the motion
    mark() {
        if (!this.line) {
            return;
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
