// SPDX-License-Identifier: MIT
//
// The clock that all views of a report share: a time that can be set, played and listened to.

export class Clock {
    constructor([start, end]) {
        this.start = start;
        this.end = end;
        this.time = start;
        this.speed = 1;
        this.isPlaying = false;
        this.listeners = [];
        this.tick = this.tick.bind(this);
    }

    /** f(clock) after every change. */
    listen(f) {
        this.listeners.push(f);
    }

    tell() {
        for (const f of this.listeners) {
            f(this);
        }
    }

    set(time) {
        this.time = Math.min(Math.max(time, this.start), this.end);
        this.tell();
    }

    play() {
        if (this.isPlaying || this.end <= this.start) {
            return;
        }
        if (this.time >= this.end) {
            this.time = this.start;
        }
        this.isPlaying = true;
        this.last = null;
        requestAnimationFrame(this.tick);
        this.tell();
    }

    pause() {
        this.isPlaying = false;
        this.tell();
    }

    toggle() {
        if (this.isPlaying) {
            this.pause();
        } else {
            this.play();
        }
    }

    tick(now) {
        if (!this.isPlaying) {
            return;
        }
        // a page that slept goes on where it was
        const seconds = this.last === null ? 0 : Math.min((now - this.last) / 1000, 0.1);
        this.last = now;
        this.time += seconds * this.speed;
        if (this.time >= this.end) {
            this.time = this.end;
            this.isPlaying = false;
        } else {
            requestAnimationFrame(this.tick);
        }
        this.tell();
    }
}

/** A speed that lets a motion last some seconds, from the list that the page offers. */
export function fittingSpeed(seconds, speeds) {
    const wanted = seconds / 5;
    let best = 1;
    for (const speed of speeds) {
        if (speed <= 1 && Math.abs(Math.log(speed / wanted)) < Math.abs(Math.log(best / wanted))) {
            best = speed;
        }
    }
    return best;
}
