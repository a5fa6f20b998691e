// SPDX-License-Identifier: MIT
//
// XML: any bytes become a tree that can be walked, or are refused.

#include "base/io/xml.h"

#include "fuzz.h"

// walks everything, so that the sanitizers see every string
static size_t walk(const cri_xml_node *node, int depth) {
    FUZZ_CHECK(depth < CRI_XML_DEPTH && node->line > 0 && *node->name);
    size_t n = strlen(node->name);
    for (int i = 0; i < node->n_attr; i++) {
        FUZZ_CHECK(cri_xml_get(node, node->attr[i].name) == node->attr[i].value);
        n += strlen(node->attr[i].value);
    }
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        n += walk(child, depth + 1);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cri_xml xml;
    cr_error err;
    cr_status status = cri_xml_parse((const char *)data, size, "f.xml", &xml, &err);
    if (status == CR_OK) {
        FUZZ_CHECK(walk(xml.root, 0) > 0);
    } else {
        fuzz_check_error(status, &err, "f.xml");
        FUZZ_CHECK(!xml.root && !xml.memory);
    }
    cri_xml_clear(&xml);
    return 0;
}
