// SPDX-License-Identifier: MIT
//
// What a fit has computed so far, in order, so that one that was interrupted can go on.
//
// All that a fit decides follows from a few results: where each search of least squares ended, and
// some losses and scales between them. They are kept in the order in which they came. A fit that
// goes on runs from its beginning again, but takes these results from the journal instead of
// computing them; after the last of them it computes, first the rest of the search that was under
// way. Equal decisions from equal numbers make equal bits.
//
//     if (!cri_journal_next(journal, 1, &loss)) {
//         loss = ...;
//         cri_journal_keep(journal, 1, &loss);
//     }

#pragma once

#include "base/base.h"
#include "base/progress.h"
#include "optimize/least_squares.h"

#include <stdint.h>

/// Losses of iterations that are kept: when there are more, every second one, every fourth, ...
#define CRI_HISTORY_LIMIT 512

/// sqrt(loss / residuals) after each iteration, of the samples that its stage compared; during a
/// restart the best so far.
typedef struct cri_fit_history {
    int n;
    int every;      // iterations from one value to the next
    long long last; // iteration that was told last
    double value[CRI_HISTORY_LIMIT];
} cri_fit_history;

/// Keeps value for iteration i, counted from 1; one that does not come after the last is left out.
/// every is 1 in a new history, all else zero.
void cri_history_keep(cri_fit_history *history, long long i, double value);

/// What a checkpoint belongs to. A number of a part is one that only equal parts have: see
/// cri_hash.
typedef enum cri_journal_part {
    CRI_JOURNAL_SCENE, // with all values that it starts from
    CRI_JOURNAL_DATA,
    CRI_JOURNAL_OPTIONS,
    CRI_JOURNAL_N_PART
} cri_journal_part;

/// Bytes of a label that are kept, with its end.
#define CRI_JOURNAL_LABEL 64

/// Where a fit is saved. Everything is borrowed.
typedef struct cri_journal_def {
    const char *file;
    const char *label; // what is fitted to what, for the message that refuses another fit
    uint64_t part[CRI_JOURNAL_N_PART];
} cri_journal_def;

/// A search of least squares that is under way.
typedef struct cri_journal_search {
    int64_t n; // unknowns, 0: there is none
    double *z; // (n)
    cri_lsq_state state;
    int64_t n_iteration;
} cri_journal_search;

/// Start with zeros for a fit that is not saved, else with cri_journal_open.
typedef struct cri_journal {
    const cri_journal_def *def; // NULL: nothing is kept
    cri_fit_history *history;   // is saved along

    double *real; // (n) entries: their length, then their numbers
    size_t n;
    size_t room;
    size_t at; // entries before it have been taken

    cri_journal_search now;
    cri_journal_search loaded; // goes on behind the last entry; owns its memory
    int n_tick;
    bool is_closed;  // nothing more is kept: the fit was told to stop, or saving failed
    bool is_foreign; // an entry was not the one that the fit asked for
    cr_status status;
    cr_error err; // when status is not CR_OK: what could not be saved
} cri_journal;

/// Reads the file when it is there, with the history, and else writes an empty one. def and history
/// are borrowed. What cri_journal_clear releases is there after a failure too.
CR_MUST_CHECK cr_status cri_journal_open(const cri_journal_def *def, cri_fit_history *history,
                                         cri_journal *out, cr_error *err);
void cri_journal_clear(cri_journal *journal);

/// Takes the next entry, of n numbers. False when it has to be computed.
bool cri_journal_next(cri_journal *journal, int n, double *value);

/// Keeps an entry that was computed.
void cri_journal_keep(cri_journal *journal, int n, const double *value);

/// Tells progress where the fit stands, unless it repeats what is known, and saves every tenth time
/// and when told to stop. False: stop.
bool cri_journal_tell(cri_journal *journal, const cri_progress *progress,
                      const cri_progress_state *state);

/// As cri_lsq_minimise. r and J are not filled when the result is taken from the journal.
CR_MUST_CHECK cr_status cri_journal_minimise(cri_journal *journal, const cri_lsq *problem,
                                             double *z, double *r, double *J, cri_lsq_result *out,
                                             cr_error *err);

/// Saves the end of a fit. Fails when the file turned out to be of another one; what could not be
/// saved is in journal->status.
CR_MUST_CHECK cr_status cri_journal_finish(cri_journal *journal, cr_error *err);
