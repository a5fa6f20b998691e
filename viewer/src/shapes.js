// SPDX-License-Identifier: MIT
//
// Shapes as a parallel projection shows them: the outline of round ones by their farthest points,
// the faces that look at the viewer of those with corners.

import { turn, turnBack } from './data.js';

// points of the outline of a round shape, and sides of a cylinder
const OUTLINE = 72;
const SIDES = 36;

const cache = new WeakMap();

/** Corners (flat, in the geom's frame) and faces, or null for round shapes and planes. */
export function polyhedron(geom) {
    if (!cache.has(geom)) {
        cache.set(geom, makePolyhedron(geom));
    }
    return cache.get(geom);
}

function makePolyhedron(geom) {
    if (geom.kind === 'mesh') {
        return { vertices: geom.vertices, faces: geom.faces, isSmooth: false };
    }
    if (geom.kind === 'box') {
        return makeBox(geom.size);
    }
    return geom.kind === 'cylinder' ? makeCylinder(geom.size) : null;
}

function makeBox(size) {
    const vertices = [];
    for (let i = 0; i < 8; i++) {
        vertices.push((i & 1 ? 1 : -1) * size[0], (i & 2 ? 1 : -1) * size[1],
            (i & 4 ? 1 : -1) * size[2]);
    }
    const faces = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1],
        [4, 5, 7, 6]];
    return { vertices, faces, isSmooth: false };
}

function makeCylinder([radius, half]) {
    const vertices = [];
    const faces = [[], []];
    for (let i = 0; i < SIDES; i++) {
        const angle = 2 * Math.PI * i / SIDES;
        const x = radius * Math.cos(angle);
        const y = radius * Math.sin(angle);
        const next = (i + 1) % SIDES;
        vertices.push(x, y, half, x, y, -half);
        faces[0].push(2 * i);
        faces[1].unshift(2 * i + 1);
        faces.push([2 * i + 1, 2 * next + 1, 2 * next, 2 * i]);
    }
    return { vertices, faces, isSmooth: true };
}

// farthest point of a round shape in a direction, both in its frame
function support(geom, d) {
    const [a, b, c] = geom.size;
    const norm = Math.hypot(...d) || 1;
    if (geom.kind === 'ellipsoid') {
        const scaled = [a * d[0], b * d[1], c * d[2]];
        const length = Math.hypot(...scaled) || 1;
        return [a * scaled[0] / length, b * scaled[1] / length, c * scaled[2] / length];
    }
    const end = geom.kind === 'capsule' ? b * Math.sign(d[2]) : 0;
    return [a * d[0] / norm, a * d[1] / norm, a * d[2] / norm + end];
}

/** How far a shape reaches in a direction from the origin of the world. */
export function reach(geom, frame, d) {
    const local = turnBack(frame.R, d);
    const solid = polyhedron(geom);
    const along = (p) => p[0] * local[0] + p[1] * local[1] + p[2] * local[2];
    let far = -Infinity;
    if (solid) {
        for (let i = 0; i < solid.vertices.length; i += 3) {
            far = Math.max(far, along(solid.vertices.slice(i, i + 3)));
        }
    } else {
        far = along(support(geom, local));
    }
    return far + frame.pos[0] * d[0] + frame.pos[1] * d[1] + frame.pos[2] * d[2];
}

/** Points of the outline of a round shape, in the world; right and up span the picture. */
export function outline(geom, frame, right, up) {
    const points = [];
    for (let i = 0; i < OUTLINE; i++) {
        const angle = 2 * Math.PI * i / OUTLINE;
        const d = [0, 1, 2].map((k) => Math.cos(angle) * right[k] + Math.sin(angle) * up[k]);
        points.push(toWorld(frame, support(geom, turnBack(frame.R, d))));
    }
    return points;
}

/** Curves on a round shape that show how it turns: great circles of its frame, in the world. */
export function seams(geom) {
    const [a, b, c] = geom.size;
    const axes = geom.kind === 'ellipsoid' ? [a, b, c] : [a, a, a];
    const lift = geom.kind === 'capsule' ? [geom.size[1], -geom.size[1]] : [0];
    const curves = [];
    for (const [i, j] of geom.kind === 'capsule' ? [[0, 1], [0, 1]] : [[0, 1], [1, 2]]) {
        const curve = [];
        for (let n = 0; n <= OUTLINE; n++) {
            const angle = 2 * Math.PI * n / OUTLINE;
            const point = [0, 0, 0];
            point[i] = axes[i] * Math.cos(angle);
            point[j] = axes[j] * Math.sin(angle);
            point[2] += lift[curves.length % lift.length];
            curve.push(point);
        }
        curves.push(curve);
    }
    return curves;
}

export function toWorld(frame, p) {
    const q = turn(frame.R, p);
    return [q[0] + frame.pos[0], q[1] + frame.pos[1], q[2] + frame.pos[2]];
}
