// SPDX-License-Identifier: MIT
//
// The files of a scene: an <include> is replaced by the children of the other file's root.
//
// Paths are relative to the including file, or else to the scene's. As in MuJoCo a file may be
// included once only. Nodes keep the name of their own file, for messages.

#include "model/scene/mjcf_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/file.h"

// longest chain of files: bounds what a lexical look at paths misses
enum { CHAIN_LIMIT = 16 };

// ---- paths -------------------------------------------------------------------------------------

// takes "./" and "folder/../" out of path, in place
static void simplify(char *path) {
    char *out = path;
    const char *at = path;
    while (*at) {
        const char *slash = strchr(at, '/');
        size_t n = slash ? (size_t)(slash - at) + 1 : strlen(at);
        bool is_dot = n == 2 && memcmp(at, "./", 2) == 0;
        bool is_up = n == 3 && memcmp(at, "../", 3) == 0;
        // the folder before, unless there is none to take back
        char *before = out;
        if (is_up && out > path + 1) {
            before = out - 1;
            while (before > path && before[-1] != '/') {
                before--;
            }
        }
        bool is_taken = is_up && before < out && memcmp(before, "../", 3) != 0;
        if (is_taken) {
            out = before;
        } else if (!is_dot) {
            memmove(out, at, n);
            out += n;
        }
        at += n;
    }
    *out = '\0';
}

char *cri_mjcf_path(cr_arena *arena, const char *file, const char *folder, const char *path) {
    CR_ASSERT(file && folder && path);
    const char *slash = strrchr(file, '/');
    size_t n_file = slash ? (size_t)(slash - file) + 1 : 0;
    size_t n_folder = strlen(folder);
    size_t n_path = strlen(path);
    bool is_rooted = path[0] == '/';
    if (is_rooted || folder[0] == '/') {
        n_file = 0;
    }
    if (is_rooted) {
        n_folder = 0;
    }
    bool has_slash = n_folder == 0 || folder[n_folder - 1] == '/';
    char *out = cri_arena_push_raw(arena, n_file + n_folder + n_path + 2);
    if (!out) {
        return NULL;
    }
    memcpy(out, file, n_file);
    memcpy(out + n_file, folder, n_folder);
    size_t n = n_file + n_folder;
    if (!has_slash) {
        out[n++] = '/';
    }
    memcpy(out + n, path, n_path + 1);
    simplify(out);
    return out;
}

// ---- files -------------------------------------------------------------------------------------

static cr_status parse_file(cri_mjcf *m, const char *text, size_t n_byte, cri_mjcf_doc *doc) {
    CR_TRY(cri_xml_parse(text, n_byte, doc->path, &doc->xml, m->err));
    // from here on clear_files releases it
    doc->next = m->doc;
    m->doc = doc;
    return CR_OK;
}

// what an <include> gives up for: text says why, after the path
static cr_status fail_open(const cri_mjcf *m, const cri_xml_node *node, const cr_error *why) {
    if (why->status == CR_ERR_MEMORY) {
        return cri_mjcf_fail_memory(m);
    }
    return cri_mjcf_fail(m, CR_ERR_FILE, node,
                         "cannot be opened: %.140s; paths are relative to the file with <include>",
                         why->text);
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// "inner < outer < ..." from doc up to the file last
static void write_chain(const cri_mjcf_doc *doc, const cri_mjcf_doc *last, char *text,
                        size_t size) {
    size_t used = 0;
    for (;; doc = doc->parent) {
        int n = snprintf(text + used, size - used, " < %s", last_part(doc->path));
        used += n > 0 ? (size_t)n : size;
        if (doc == last || used >= size) {
            return;
        }
    }
}

static cr_status check_chain(const cri_mjcf *m, const cri_xml_node *node, const char *path,
                             const cri_mjcf_doc *parent) {
    int depth = 0;
    for (const cri_mjcf_doc *doc = parent; doc; doc = doc->parent) {
        if (strcmp(doc->key, path) == 0) {
            char chain[120];
            write_chain(parent, doc, chain, sizeof chain);
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                                 "includes a file that it stands in: %.40s%s; remove one",
                                 last_part(path), chain);
        }
        depth++;
    }
    if (depth >= CHAIN_LIMIT) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "stands in a chain of more than %d files: include fewer", CHAIN_LIMIT);
    }
    for (const cri_mjcf_doc *doc = m->doc; doc; doc = doc->next) {
        if (doc->from && strcmp(doc->key, path) == 0) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                                 "includes '%.60s' a second time, after %.40s:%d: remove one",
                                 cri_xml_get(node, "file"), last_part(doc->from->file),
                                 doc->from->line);
        }
    }
    return CR_OK;
}

static bool is_file(const char *path) {
    FILE *stream = fopen(path, "rb");
    if (stream) {
        fclose(stream);
    }
    return stream != NULL;
}

static cr_status read_include(cri_mjcf *m, const cri_xml_node *node, cri_mjcf_doc *parent,
                              cri_mjcf_doc **out) {
    CR_TRY(cri_mjcf_check_attrs(m, node, &(cri_mjcf_rules){.read = "file"}));
    CR_TRY(cri_mjcf_check_children(m, node, NULL));
    const char *name = cri_xml_get(node, "file");
    if (!name || !*name) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has no file: name one");
    }
    // beside the including file, or else beside the scene, where MuJoCo looks
    char *path = cri_mjcf_path(m->def->memory, parent->path, "", name);
    char *other = cri_mjcf_path(m->def->memory, m->def->file, "", name);
    cri_mjcf_doc *doc = CR_PUSH(m->scratch, cri_mjcf_doc, 1);
    if (!path || !other || !doc) {
        return cri_mjcf_fail_memory(m);
    }
    path = !is_file(path) && is_file(other) ? other : path;
    CR_TRY(check_chain(m, node, path, parent));
    *doc = (cri_mjcf_doc){.path = path, .key = path, .from = node, .parent = parent};
    char *text = NULL;
    size_t n_byte = 0;
    cr_error why = {0};
    if (cri_file_read(path, &text, &n_byte, &why) != CR_OK) {
        return fail_open(m, node, &why);
    }
    cr_status status = parse_file(m, text, n_byte, doc);
    free(text);
    *out = doc;
    return status;
}

static cr_status splice(cri_mjcf *m, cri_xml_node *parent, cri_mjcf_doc *doc, int depth);

// the <include> at *link gives way to the children of its file
static cr_status load_children(cri_mjcf *m, cri_xml_node **link, cri_mjcf_doc *parent, int depth) {
    cri_mjcf_doc *doc = NULL;
    CR_TRY(read_include(m, *link, parent, &doc));
    CR_ASSERT(doc);
    cri_xml_node *root = doc->xml.root;
    if (!cri_mjcf_is_word("mujoco mujocoinclude", root->name)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, root,
                             "is no part of a scene: expected <mujoco> or <mujocoinclude>");
    }
    CR_TRY(splice(m, root, doc, depth));
    cri_xml_node *next = (*link)->next;
    *link = root->child;
    while (*link) {
        link = &(*link)->next;
    }
    *link = next;
    return CR_OK;
}

// parent is so many elements below the scene's root; later walks go as deep as this one
static cr_status splice(cri_mjcf *m, cri_xml_node *parent, cri_mjcf_doc *doc, int depth) {
    cri_xml_node **link = &parent->child;
    if (depth >= CRI_XML_DEPTH) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, parent,
                             "is nested deeper than %d with what includes it: nest less",
                             CRI_XML_DEPTH);
    }
    while (*link) {
        cri_xml_node *node = *link;
        if (strcmp(node->name, "include") != 0) {
            CR_TRY(splice(m, node, doc, depth + 1));
            link = &node->next;
            continue;
        }
        cri_xml_node *next = node->next;
        CR_TRY(load_children(m, link, doc, depth));
        // what came in is spliced already
        while (*link != next) {
            CR_ASSERT(*link);
            link = &(*link)->next;
        }
    }
    return CR_OK;
}

cr_status cri_mjcf_read_files(cri_mjcf *m, const char *text, size_t n_byte) {
    cri_mjcf_doc *doc = CR_PUSH(m->scratch, cri_mjcf_doc, 1);
    char *key = cri_mjcf_path(m->scratch, "", "", m->def->file);
    if (!doc || !key) {
        return cri_mjcf_fail_memory(m);
    }
    *doc = (cri_mjcf_doc){.path = m->def->file, .key = key};
    CR_TRY(parse_file(m, text, n_byte, doc));
    m->root = doc->xml.root;
    return splice(m, doc->xml.root, doc, 0);
}

void cri_mjcf_clear_files(cri_mjcf *m) {
    for (cri_mjcf_doc *doc = m->doc; doc; doc = doc->next) {
        cri_xml_clear(&doc->xml);
    }
    m->doc = NULL;
}
