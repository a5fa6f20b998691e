// SPDX-License-Identifier: MIT
//
// Reports of every kind, made by the command.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

// every shape, and a name that tries to leave its place
const SCENE = `<mujoco>
  <asset><mesh name="wedge" vertex="0 0 0  .2 0 0  0 .2 0  0 0 .2"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <geom name="post" type="cylinder" pos="-.6 0 .2" size=".05 .2"/>
    <body name="&lt;/script>&lt;script>isBroken = 1&lt;/script>" pos="0 0 .5"><freejoint/>
      <geom type="sphere" size=".08" mass="1"/></body>
    <body name="pill" pos=".4 0 .5" euler="30 20 0"><freejoint/>
      <geom type="capsule" size=".05 .1" mass="1"/></body>
    <body name="egg" pos=".8 0 .5"><freejoint/>
      <geom type="ellipsoid" size=".05 .08 .12" mass="1"/></body>
    <body name="tin" pos="1.2 0 .5" euler="10 30 0"><freejoint/>
      <geom type="cylinder" size=".06 .08" mass="1"/></body>
    <body name="brick" pos="1.6 0 .5" euler="20 10 5"><freejoint/>
      <geom type="box" size=".1 .06 .04" mass="1"/></body>
    <body name="wedge" pos="2 0 .5"><freejoint/>
      <geom type="mesh" mesh="wedge" mass="1"/></body>
  </worldbody>
</mujoco>
`;

const FIT = 'floor:ball/friction,floor:ball/restitution,ball/size[0],x0:ball/qvel[0],x0:ball/qvel[2]';

/** Files by name. Ends with 77 when the command was built without charts. */
export function makeReports(carom, folder) {
    const shapes = join(folder, 'shapes.xml');
    writeFileSync(shapes, SCENE);
    const commands = {
        bounce: ['simulate', 'examples/bounce.xml', '--steps', '320'],
        box: ['simulate', 'examples/box.xml'],
        push: ['simulate', 'examples/push.xml', '--steps', '3000'],
        shapes: ['simulate', shapes, '--stepper', 'end', '--steps', '400'],
        gradient: ['gradient', 'examples/two_balls.xml', '--target', 'right:1,0,0@1', '--wrt',
            '*/mass,left:right/restitution', '--check'],
        together: ['gradient', 'examples/two_balls.xml', '--target', 'left:1,0,0@1', '--target',
            'right:1,0,0@1', '--wrt', '*/mass'],
        apart: ['gradient', 'examples/two_balls.xml', '--target', 'left:0.5,0,0@1', '--target',
            'right:1,0,0@1', '--wrt', '*/mass'],
        compare: ['compare', 'examples/two_balls.xml', '--target', 'right:1,0,0@1'],
        plan: ['plan', 'examples/two_balls.xml', '--target', 'right:0.9,0,0@1', '--controls',
            'x0:left/qvel[0]'],
        fit: ['fit', 'examples/bounce.xml', 'examples/bounce.csv', '--wrt', FIT],
        linearize: ['linearize', 'examples/cart.xml'],
        bench: ['bench', 'load'],
    };
    const reports = {};
    for (const [name, words] of Object.entries(commands)) {
        reports[name] = join(folder, `${name}.html`);
        execFileSync(carom, [...words, '--report', reports[name]], { stdio: ['ignore', 'ignore', 2] });
    }
    if (!/id="data">[^<]*<\/script>\s*<script>/.test(readFileSync(reports.box, 'utf8'))) {
        console.log('skipped: this build has no charts; install npm and build again');
        process.exit(77);
    }
    reports.two = join(folder, 'two.html');
    writeFileSync(reports.two, doubled(readFileSync(reports.box, 'utf8')));
    return reports;
}

// a page of two motions behind an empty one: half of the charts belong to each
function doubled(page) {
    return page.replace(/(id="data">)([^<]*)/, (all, begin, text) => {
        const data = JSON.parse(text);
        const [motion] = data.motions;
        data.motions = [{ ...motion, variants: [] }, { ...motion, name: 'one' },
            { ...motion, name: 'two' }];
        data.charts.forEach((chart, i) => {
            chart.motion = i % 3;
        });
        return begin + JSON.stringify(data);
    });
}
