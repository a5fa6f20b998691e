// SPDX-License-Identifier: MIT
//
// Colours come from the style sheet, which knows light and dark.

const N_SERIES = 8;

/** Reads the colours of the page as it is now. */
export function readColours() {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(name).trim();
    const series = [];
    for (let i = 1; i <= N_SERIES; i++) {
        series.push(get(`--series-${i}`));
    }
    return {
        series,
        text: get('--text'),
        dim: get('--dim'),
        line: get('--line'),
        card: get('--card'),
        ground: get('--ground'),
        still: get('--still'),
        impulse: get('--impulse'),
        marker: get('--marker'),
    };
}

/** A colour #rrggbb made lighter (above 0) or darker (below 0), and see-through. */
export function shade(colour, by, alpha = 1) {
    const target = by > 0 ? 255 : 0;
    const parts = [1, 3, 5].map((i) => {
        const value = parseInt(colour.slice(i, i + 2), 16);
        return Math.round(value + Math.abs(by) * (target - value));
    });
    return `rgba(${parts.join(',')},${alpha})`;
}
