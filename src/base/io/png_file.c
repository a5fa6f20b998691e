// SPDX-License-Identifier: MIT
//
// Grey pictures as PNG files, not compressed: deflate's blocks of kind 0 (RFC 1950, 1951, 2083).

#include "base/io/png_file.h"

#include "base/io/file.h"

#include <stdint.h>

enum { BLOCK = 65535 }; // bytes of a stored block, at most

/// A file and the checksum of the chunk that is being written.
typedef struct chunk {
    FILE *stream;
    uint32_t crc;
} chunk;

static void put(chunk *c, const unsigned char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        c->crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            c->crc = c->crc >> 1 ^ (c->crc & 1 ? 0xedb88320u : 0u);
        }
    }
    (void)fwrite(bytes, 1, n, c->stream); // commit asks the stream whether all went well
}

static void put_word(chunk *c, uint32_t word) {
    const unsigned char bytes[4] = {(unsigned char)(word >> 24), (unsigned char)(word >> 16),
                                    (unsigned char)(word >> 8), (unsigned char)word};
    put(c, bytes, sizeof bytes);
}

static void begin(chunk *c, uint32_t n_byte, const char *kind) {
    put_word(c, n_byte);
    c->crc = 0xffffffffu;
    put(c, (const unsigned char *)kind, 4);
}

static void end(chunk *c) {
    put_word(c, ~c->crc);
}

// rows, each behind a zero that says "not filtered", as one stream of bytes
static unsigned char byte_of(const unsigned char *grey, size_t width, size_t i) {
    size_t row = i / (width + 1), column = i % (width + 1);
    return column == 0 ? 0 : grey[row * width + column - 1];
}

static void put_image(chunk *c, size_t width, size_t height, const unsigned char *grey) {
    size_t n = height * (width + 1), n_block = (n + BLOCK - 1) / BLOCK;
    static const unsigned char head[2] = {0x78, 0x01};
    uint32_t a = 1, b = 0; // Adler's checksum
    begin(c, (uint32_t)(n + 5 * n_block + 6), "IDAT");
    put(c, head, sizeof head);
    for (size_t first = 0; first < n; first += BLOCK) {
        size_t size = n - first < BLOCK ? n - first : BLOCK;
        const unsigned char lead[5] = {first + size == n, (unsigned char)size,
                                       (unsigned char)(size >> 8), (unsigned char)~size,
                                       (unsigned char)(~size >> 8)};
        put(c, lead, sizeof lead);
        for (size_t i = first; i < first + size; i++) {
            unsigned char byte = byte_of(grey, width, i);
            put(c, &byte, 1);
            a = (a + byte) % 65521;
            b = (b + a) % 65521;
        }
    }
    put_word(c, b << 16 | a);
    end(c);
}

cr_status cri_png_write(const char *path, int width, int height, const unsigned char *grey,
                        cr_error *err) {
    CR_ASSERT(width > 0 && height > 0 && (double)width * height < 1e9);
    static const unsigned char sign[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    static const unsigned char kind[5] = {8, 0, 0, 0, 0}; // 8 bits, grey
    cri_atomic_file file;
    CR_TRY(cri_atomic_open(path, &file, err));
    chunk c = {.stream = file.stream};
    put(&c, sign, sizeof sign);
    begin(&c, 13, "IHDR");
    put_word(&c, (uint32_t)width);
    put_word(&c, (uint32_t)height);
    put(&c, kind, sizeof kind);
    end(&c);
    put_image(&c, (size_t)width, (size_t)height, grey);
    begin(&c, 0, "IEND");
    end(&c);
    return cri_atomic_commit(&file, err);
}
