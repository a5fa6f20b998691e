// SPDX-License-Identifier: MIT
//
// depth_frames FILE WIDTH: depth frames of the ball of depth_test.py from 2 m away along y, 40 x
// 60, by the closed form. The camera says that they are WIDTH wide.

#include "base/io/hdf5_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 12, WIDTH = 40, HEIGHT = 60 };

static const double radius = 0.12, restitution = 0.6, gravity = 9.81, focal = 60.0;

// height of a ball that falls from 0.6 m and bounces once
static double height_at(double t) {
    double hit = sqrt(2.0 * (0.6 - radius) / gravity), s = t - hit;
    return s <= 0.0 ? 0.6 - 0.5 * gravity * t * t
                    : radius + restitution * gravity * hit * s - 0.5 * gravity * s * s;
}

// depth of the ball at c from the camera along the ray of a pixel, 0: it is not there
static double depth_at(const double c[3], int u, int v) {
    double right = (u + 0.5 - 0.5 * WIDTH) / focal, up = -(v + 0.5 - 0.5 * HEIGHT) / focal;
    double a = right * right + 1.0 + up * up, b = right * c[0] + c[1] + up * c[2];
    double root = b * b - a * (c[0] * c[0] + c[1] * c[1] + c[2] * c[2] - radius * radius);
    return root > 0.0 ? (b - sqrt(root)) / a : 0.0;
}

int main(int n_word, char **word) {
    static double depth[FRAMES * WIDTH * HEIGHT];
    double time[FRAMES], half = sqrt(0.5);
    if (n_word != 3) {
        return 2;
    }
    double camera[6] = {focal, focal, 0.5 * WIDTH, 0.5 * HEIGHT, atof(word[2]), HEIGHT};
    double pose[7] = {0.2, -2.0, 0.4, half, half, 0.0, 0.0};
    for (int k = 0; k < FRAMES; k++) {
        time[k] = k / 30.0;
        const double c[3] = {0.8 * time[k] - 0.2, 2.0, height_at(time[k]) - 0.4};
        for (int i = 0; i < WIDTH * HEIGHT; i++) {
            depth[k * WIDTH * HEIGHT + i] = depth_at(c, i % WIDTH, i / WIDTH);
        }
    }
    cri_array array[4] = {{"time", 1, {FRAMES}, time},
                          {"depth", 3, {FRAMES, HEIGHT, WIDTH}, depth},
                          {"camera", 1, {6}, camera},
                          {"pose", 1, {7}, pose}};
    cr_error err = {0};
    const cri_array_file file = {"carom depth 1", 4, array, 0, NULL};
    if (cri_arrays_write(word[1], &file, &err) != CR_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    return 0;
}
