// SPDX-License-Identifier: MIT
//
// CSV: any bytes become a table of finite numbers, or are refused.

#include "base/io/table.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cri_table table;
    cr_error err;
    cr_status status = cri_table_parse((const char *)data, size, "f.csv", &table, &err);
    if (status == CR_OK) {
        FUZZ_CHECK(table.n_row >= 0 && table.n_col > 0);
        FUZZ_CHECK(cri_all_finite(table.n_row * table.n_col, table.value));
        for (int i = 0; i < table.n_col; i++) {
            int found = cri_table_find(&table, table.name[i]);
            FUZZ_CHECK(found >= 0 && found <= i);
        }
        for (int i = 1; i < table.n_row; i++) {
            FUZZ_CHECK(table.line[i - 1] < table.line[i]);
        }
    } else {
        fuzz_check_error(status, &err, "f.csv");
        FUZZ_CHECK(table.n_row == 0 && !table.value);
    }
    cri_table_clear(&table);
    return 0;
}
