// SPDX-License-Identifier: MIT
//
// A fit of many recordings, made by simulation with noise.

#pragma once

typedef struct cli_bench_fit_result {
    int n_thread;
    double seconds;      // of the fit alone
    double processor;    // s, of all threads together
    int n_iteration;     // of all stages
    double rms;          // of the residuals, in units of the noise
    double worst_shared; // largest error of a shared value, in its standard errors
    double own_spread;   // errors of the initial values in their standard errors, rms
    double own_covered;  // part of them within two standard errors
} cli_bench_fit_result;

/// Fits 5 shared parameters and 13 initial values a recording to so many of 100 frames each. The
/// fit knows the recordings and the size of their noise alone. Returns an exit code.
int cli_bench_fit(int n_recording, cli_bench_fit_result *out);
