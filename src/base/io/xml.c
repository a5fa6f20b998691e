// SPDX-License-Identifier: MIT
//
// XML as a tree of elements with line numbers, on top of expat.
//
// Open elements are kept on a stack of fixed height, so that no input can exhaust the call stack.
// expat gets the plain allocator: whoever replaces malloc in a test sees all of its calls.

#include "base/io/xml.h"

#include <expat.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/file.h"
#include "base/io/number.h"

// expat counts bytes in int, and this keeps its own buffers small
#define PIECE ((size_t)1 << 20)

#define FIRST_BLOCK ((size_t)16 << 10)

typedef struct reader {
    XML_Parser parser;
    cr_arena *memory;
    const char *file;
    cr_error *err;
    cr_status status; // of our own handlers
    cri_xml_node *root;
    cri_xml_node *open[CRI_XML_DEPTH]; // from the root down
    cri_xml_node *last[CRI_XML_DEPTH]; // last child of each, NULL: none yet
    int depth;
} reader;

static int current_line(const reader *r) {
    return (int)XML_GetCurrentLineNumber(r->parser);
}

static void stop(reader *r, cr_status status) {
    r->status = status;
    (void)XML_StopParser(r->parser, XML_FALSE);
}

// the new node with its strings, NULL when there is no memory
static cri_xml_node *push_node(reader *r, const char *name, const char **attr) {
    int n_attr = 0;
    while (attr[2 * n_attr]) {
        n_attr++;
    }
    cri_xml_node *node = CR_PUSH(r->memory, cri_xml_node, 1);
    cri_xml_attr *copy = CR_PUSH(r->memory, cri_xml_attr, n_attr + 1);
    if (!node || !copy) {
        return NULL;
    }
    for (int i = 0; i < n_attr; i++) {
        copy[i].name = cri_arena_push_text(r->memory, attr[2 * i]);
        copy[i].value = cri_arena_push_text(r->memory, attr[2 * i + 1]);
    }
    node->name = cri_arena_push_text(r->memory, name);
    node->file = r->file;
    node->line = current_line(r);
    node->n_attr = n_attr;
    node->attr = copy;
    return cri_arena_has_failed(r->memory) ? NULL : node;
}

static void XMLCALL on_start(void *data, const char *name, const char **attr) {
    reader *r = data;
    if (r->status != CR_OK) {
        return;
    }
    if (r->depth == CRI_XML_DEPTH) {
        stop(r, cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, current_line(r),
                              "elements are nested deeper than %d: nest less", CRI_XML_DEPTH));
        return;
    }
    cri_xml_node *node = push_node(r, name, attr);
    if (!node) {
        stop(r, cri_file_fail_memory(r->err, r->file));
        return;
    }

    // behind its elder sibling, or as first child
    if (r->depth == 0) {
        r->root = node;
    } else if (r->last[r->depth - 1]) {
        r->last[r->depth - 1]->next = node;
    } else {
        r->open[r->depth - 1]->child = node;
    }
    if (r->depth > 0) {
        r->last[r->depth - 1] = node;
    }
    r->open[r->depth] = node;
    r->last[r->depth] = NULL;
    r->depth++;
}

static void XMLCALL on_end(void *data, const char *name) {
    reader *r = data;
    (void)name;
    if (r->status == CR_OK) {
        CR_ASSERT(r->depth > 0);
        r->depth--;
    }
}

static void XMLCALL on_doctype(void *data, const char *name, const char *system_id,
                               const char *public_id, int has_subset) {
    reader *r = data;
    (void)name, (void)system_id, (void)public_id, (void)has_subset;
    if (r->status == CR_OK) {
        stop(r, cri_file_fail(r->err, CR_ERR_UNSUPPORTED, r->file, current_line(r),
                              "<!DOCTYPE> is not supported: remove it"));
    }
}

// why expat gave up
static cr_status fail_syntax(reader *r) {
    enum XML_Error code = XML_GetErrorCode(r->parser);
    int line = current_line(r);
    const char *hint = "";
    switch ((int)code) {
    case XML_ERROR_NO_MEMORY:
        return cri_file_fail_memory(r->err, r->file);
    case XML_ERROR_NO_ELEMENTS:
    case XML_ERROR_UNCLOSED_TOKEN:
    case XML_ERROR_PARTIAL_CHAR:
    case XML_ERROR_UNCLOSED_CDATA_SECTION:
        hint = "; the file ends too early";
        break;
    default:
        break;
    }
    cr_status status = cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, line, "not valid XML: %s%s",
                                     XML_ErrorString(code), hint);
    if (r->err) {
        r->err->column = (int)XML_GetCurrentColumnNumber(r->parser) + 1;
    }
    return status;
}

static cr_status run(reader *r, const char *text, size_t n_byte) {
    for (size_t at = 0;;) {
        size_t n = n_byte - at < PIECE ? n_byte - at : PIECE;
        bool is_last = at + n == n_byte;
        enum XML_Status status = XML_Parse(r->parser, text + at, (int)n, is_last);
        if (r->status != CR_OK) {
            return r->status;
        }
        if (status != XML_STATUS_OK) {
            return fail_syntax(r);
        }
        if (is_last) {
            return CR_OK;
        }
        at += n;
    }
}

static bool is_blank(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!cri_number_is_space(text[i])) {
            return false;
        }
    }
    return true;
}

cr_status cri_xml_parse(const char *text, size_t n_byte, const char *file, cri_xml *out,
                        cr_error *err) {
    CR_ASSERT((text || n_byte == 0) && file && out);
    *out = (cri_xml){0};
    if (n_byte > CRI_FILE_LIMIT) {
        return cri_file_fail(err, CR_ERR_FILE, file, 0, "is larger than %d MiB",
                             (int)(CRI_FILE_LIMIT >> 20));
    }
    if (is_blank(text, n_byte)) {
        return cri_file_fail(err, CR_ERR_SYNTAX, file, 1, "is empty: expected XML");
    }

    const XML_Memory_Handling_Suite heap = {malloc, realloc, free};
    reader r = {.file = file, .err = err};
    r.memory = cri_arena_create(FIRST_BLOCK);
    r.parser = r.memory ? XML_ParserCreate_MM(NULL, &heap, NULL) : NULL;
    if (!r.parser) {
        cri_arena_destroy(r.memory);
        return cri_file_fail_memory(err, file);
    }
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, on_start, on_end);
    XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
    cr_status status = run(&r, text, n_byte);
    XML_ParserFree(r.parser);

    *out = (cri_xml){.root = r.root, .memory = r.memory};
    if (status != CR_OK) {
        cri_xml_clear(out);
    }
    return status;
}

void cri_xml_clear(cri_xml *xml) {
    cri_arena_destroy(xml->memory);
    *xml = (cri_xml){0};
}

const char *cri_xml_get(const cri_xml_node *node, const char *name) {
    for (int i = 0; i < node->n_attr; i++) {
        if (strcmp(node->attr[i].name, name) == 0) {
            return node->attr[i].value;
        }
    }
    return NULL;
}
