// SPDX-License-Identifier: MIT
//
// XML as a tree of elements with line numbers.
//
// Only elements and attributes are kept; text between tags, comments and processing instructions
// are dropped. Documents with a DOCTYPE are refused, so there are no entities to expand.

#pragma once

#include "base/arena.h"
#include "base/base.h"

/// Deepest nesting that is read: a rope of some hundred bodies, within what a stack holds.
#define CRI_XML_DEPTH 512

typedef struct cri_xml_attr {
    const char *name;
    const char *value;
} cri_xml_attr;

/// One element. Children are a list in document order.
typedef struct cri_xml_node {
    const char *name;
    const char *file; // as given to cri_xml_parse, borrowed
    int line;         // of its start tag
    int n_attr;
    const cri_xml_attr *attr;
    struct cri_xml_node *child; // first, NULL: none
    struct cri_xml_node *next;  // next child of the same parent
} cri_xml_node;

/// A document. Owns its nodes; release with cri_xml_clear.
typedef struct cri_xml {
    cri_xml_node *root;
    cr_arena *memory;
} cri_xml;

/// Reads a document from memory. On failure *out is empty and err names file, line and column.
CR_MUST_CHECK cr_status cri_xml_parse(const char *text, size_t n_byte, const char *file,
                                      cri_xml *out, cr_error *err);

/// Releases what xml owns and empties it.
void cri_xml_clear(cri_xml *xml);

/// Value of an attribute, NULL when the element has none of that name.
const char *cri_xml_get(const cri_xml_node *node, const char *name);
