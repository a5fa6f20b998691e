// SPDX-License-Identifier: MIT
//
// Runs a fuzz target on every file of the folders named: seeds, and what the fuzzer once found.

#define _POSIX_C_SOURCE 200809L

#include <dirent.h>

#include "base/io/file.h"
#include "fuzz.h"

// memory of the exact size lets the address sanitizer see a read behind the end
static bool run_file(const char *path) {
    char *text = NULL;
    size_t n = 0;
    cr_error err;
    if (cri_file_read(path, &text, &n, &err) != CR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    uint8_t *exact = malloc(n > 0 ? n : 1);
    if (exact) {
        memcpy(exact, text, n);
        (void)LLVMFuzzerTestOneInput(exact, n);
    }
    free(exact);
    free(text);
    return exact != NULL;
}

int main(int argc, char **argv) {
    int n_file = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 1;
        }
        for (struct dirent *entry; (entry = readdir(folder));) {
            char path[1024];
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            if (entry->d_name[0] == '.') {
                continue;
            }
            if (!run_file(path)) {
                closedir(folder);
                return 1;
            }
            n_file++;
        }
        closedir(folder);
    }
    printf("%d inputs\n", n_file);
    return n_file > 0 ? 0 : 1;
}
