// SPDX-License-Identifier: MIT
//
// The data of a report, as docs/report.md has them, and what every drawing asks of them: where the
// bodies are at a time. Knows nothing of the page.

const FORMAT = 'carom report';
const VERSION = 1;

/** Reads the text of the data; throws when it is of another kind or version. */
export function readReport(text) {
    const report = JSON.parse(text);
    if (report.format !== FORMAT || report.version !== VERSION) {
        throw new Error(`expected ${FORMAT} ${VERSION}, found ${report.format} ${report.version}`);
    }
    for (const motion of report.motions) {
        motion.variants = motion.variants.filter((variant) => variant.time.length > 0);
        shareMeshes(motion);
    }
    const shown = report.motions.filter((motion) => motion.variants.length > 0);
    for (const chart of report.charts) {
        chart.motion = shown.indexOf(report.motions[chart.motion]);
    }
    report.motions = shown;
    return report;
}

// the corners of a mesh stand in the first variant alone
function shareMeshes(motion) {
    for (const variant of motion.variants) {
        variant.geoms.forEach((geom, i) => {
            if (geom.kind === 'mesh' && !geom.vertices) {
                geom.vertices = motion.variants[0].geoms[i].vertices;
                geom.faces = motion.variants[0].geoms[i].faces;
            }
        });
    }
}

/** First and last time of a motion, s. */
export function timeRange(motion) {
    const times = motion.variants.map((variant) => variant.time);
    return [
        Math.min(...times.map((time) => time[0])),
        Math.max(...times.map((time) => time[time.length - 1])),
    ];
}

/** Index of the first frame at or after t; the last one when there is none. */
export function frameAt(variant, t) {
    const time = variant.time;
    let low = 0;
    let high = time.length - 1;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (time[middle] < t) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/** Poses of all bodies at t, [x y z w x y z] each, between the two frames around it. */
export function posesAt(variant, t) {
    const next = frameAt(variant, t);
    const last = Math.max(next - 1, 0);
    const span = variant.time[next] - variant.time[last];
    const part = span > 0 ? Math.min(Math.max((t - variant.time[last]) / span, 0), 1) : 1;
    const a = variant.poses[last];
    const b = variant.poses[next];
    const poses = [];
    for (let i = 0; i < b.length; i += 7) {
        poses.push(between(a, b, i, part));
    }
    return poses;
}

// positions along a line, quaternions along the shorter arc: normalised, which is close enough for
// the small turn between two frames
function between(a, b, i, part) {
    const pose = new Array(7);
    for (let k = 0; k < 3; k++) {
        pose[k] = a[i + k] + part * (b[i + k] - a[i + k]);
    }
    let dot = 0;
    for (let k = 3; k < 7; k++) {
        dot += a[i + k] * b[i + k];
    }
    let norm = 0;
    for (let k = 3; k < 7; k++) {
        pose[k] = (1 - part) * a[i + k] + part * Math.sign(dot || 1) * b[i + k];
        norm += pose[k] * pose[k];
    }
    norm = Math.sqrt(norm) || 1;
    for (let k = 3; k < 7; k++) {
        pose[k] /= norm;
    }
    return pose;
}

/** Rotation matrix, row by row, of a pose. */
export function rotation(pose) {
    const [, , , w, x, y, z] = pose;
    return [
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    ];
}

/** R p. */
export function turn(R, p) {
    return [
        R[0] * p[0] + R[1] * p[1] + R[2] * p[2],
        R[3] * p[0] + R[4] * p[1] + R[5] * p[2],
        R[6] * p[0] + R[7] * p[1] + R[8] * p[2],
    ];
}

/** R' p. */
export function turnBack(R, p) {
    return [
        R[0] * p[0] + R[3] * p[1] + R[6] * p[2],
        R[1] * p[0] + R[4] * p[1] + R[7] * p[2],
        R[2] * p[0] + R[5] * p[1] + R[8] * p[2],
    ];
}

/** Frame of a geom in the world: position and rotation. */
export function geomFrame(geom, poses) {
    const local = rotation(geom.pose);
    if (geom.body < 0) {
        return { pos: geom.pose.slice(0, 3), R: local };
    }
    const pose = poses[geom.body];
    const R = rotation(pose);
    const arm = turn(R, geom.pose);
    const columns = [0, 1, 2].map((k) => turn(R, [local[k], local[3 + k], local[6 + k]]));
    return {
        pos: [pose[0] + arm[0], pose[1] + arm[1], pose[2] + arm[2]],
        R: [0, 1, 2].flatMap((row) => columns.map((column) => column[row])),
    };
}

/** Contacts of one frame: geoms, point, impulse on the second geom, whether it is an impact. */
export function contactsOf(variant, frame) {
    const flat = variant.contacts[frame];
    const contacts = [];
    for (let i = 0; i < flat.length; i += 9) {
        contacts.push({
            geoms: flat.slice(i, i + 2),
            point: flat.slice(i + 2, i + 5),
            impulse: flat.slice(i + 5, i + 8),
            isImpact: flat[i + 8] === 1,
        });
    }
    return contacts;
}

/** Largest impulse of a motion, N s; 0 when nothing touches. */
export function largestImpulse(motion) {
    let largest = 0;
    for (const variant of motion.variants) {
        for (const flat of variant.contacts) {
            for (let i = 0; i < flat.length; i += 9) {
                largest = Math.max(largest, Math.hypot(flat[i + 5], flat[i + 6], flat[i + 7]));
            }
        }
    }
    return largest;
}
