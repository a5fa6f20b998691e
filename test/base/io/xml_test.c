// SPDX-License-Identifier: MIT
//
// XML as a tree of elements.

#include "base/io/xml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *text, cr_status status, int line, int column, const char *message) {
    cri_xml xml;
    cr_error err = {0};
    assert_int_equal(cri_xml_parse(text, strlen(text), "s.xml", &xml, &err), status);
    assert_string_equal(err.text, message);
    assert_int_equal(err.line, line);
    assert_int_equal(err.column, column);
    assert_null(xml.root);
    assert_int_equal(cri_xml_parse(text, strlen(text), "s.xml", &xml, NULL), status);
}

static void elements_keep_order_lines_and_attributes(void **state) {
    (void)state;
    static const char text[] =
        "<?xml version=\"1.0\"?>\n<!-- c -->\n<a x=\"1\" y=\"&lt;2&#10;\">text\n"
        "<b/><c><d/></c>\n<b z=''/></a>\n";
    cri_xml xml;
    assert_int_equal(cri_xml_parse(text, strlen(text), "s.xml", &xml, NULL), CR_OK);
    const cri_xml_node *a = xml.root;
    assert_string_equal(a->name, "a");
    assert_int_equal(a->line, 3);
    assert_int_equal(a->n_attr, 2);
    assert_string_equal(cri_xml_get(a, "x"), "1");
    assert_string_equal(cri_xml_get(a, "y"), "<2\n");
    assert_null(cri_xml_get(a, "z"));
    assert_null(a->next);

    const cri_xml_node *b = a->child;
    assert_string_equal(b->name, "b");
    assert_int_equal(b->line, 4);
    assert_null(b->child);
    const cri_xml_node *c = b->next;
    assert_string_equal(c->name, "c");
    assert_string_equal(c->child->name, "d");
    assert_null(c->child->next);
    const cri_xml_node *last = c->next;
    assert_string_equal(cri_xml_get(last, "z"), "");
    assert_int_equal(last->line, 5);
    assert_null(last->next);
    cri_xml_clear(&xml);
    assert_null(xml.root);
}

static void an_empty_text_is_reported(void **state) {
    (void)state;
    expect("", CR_ERR_SYNTAX, 1, 0, "s.xml:1: is empty: expected XML");
    expect(" \r\n\t\n", CR_ERR_SYNTAX, 1, 0, "s.xml:1: is empty: expected XML");
}

static void syntax_errors_have_line_and_column(void **state) {
    (void)state;
    expect("<a>\n<b></c></a>", CR_ERR_SYNTAX, 2, 6, "s.xml:2: not valid XML: mismatched tag");
    expect("hello", CR_ERR_SYNTAX, 1, 1, "s.xml:1: not valid XML: syntax error");
    expect("<a x=\"1\" x=\"2\"/>", CR_ERR_SYNTAX, 1, 10,
           "s.xml:1: not valid XML: duplicate attribute");
    expect("<a/>\n<b/>", CR_ERR_SYNTAX, 2, 1,
           "s.xml:2: not valid XML: junk after document element");
}

static void a_cut_off_text_is_said_to_end_too_early(void **state) {
    (void)state;
    expect("<a>\n<b/>", CR_ERR_SYNTAX, 2, 5,
           "s.xml:2: not valid XML: no element found; the file ends too early");
    expect("<a>\n<b x=\"1", CR_ERR_SYNTAX, 2, 1,
           "s.xml:2: not valid XML: unclosed token; the file ends too early");
}

static void a_doctype_is_refused(void **state) {
    (void)state;
    expect("<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY e \"e\">]>\n<a>&e;</a>",
           CR_ERR_UNSUPPORTED, 2, 0, "s.xml:2: <!DOCTYPE> is not supported: remove it");
}

static void nesting_has_a_limit(void **state) {
    (void)state;
    // a hundred thousand levels must not reach the call stack
    enum { N = 100000 };
    char *text = malloc(3 * N + 1);
    assert_non_null(text);
    for (int i = 0; i < N; i++) {
        memcpy(text + 3 * i, "<a>", 3);
    }
    text[3 * N] = '\0';
    expect(text, CR_ERR_SYNTAX, 1, 0, "s.xml:1: elements are nested deeper than 512: nest less");
    free(text);
}

static void as_many_levels_as_allowed_are_read(void **state) {
    (void)state;
    char text[7 * CRI_XML_DEPTH + 1];
    for (int i = 0; i < CRI_XML_DEPTH; i++) {
        memcpy(text + 3 * i, "<a>", 3);
        memcpy(text + 3 * CRI_XML_DEPTH + 4 * i, "</a>", 4);
    }
    text[sizeof text - 1] = '\0';
    cri_xml xml;
    assert_int_equal(cri_xml_parse(text, strlen(text), "s.xml", &xml, NULL), CR_OK);
    int depth = 0;
    for (const cri_xml_node *node = xml.root; node; node = node->child) {
        depth++;
    }
    assert_int_equal(depth, CRI_XML_DEPTH);
    cri_xml_clear(&xml);
}

static void a_text_of_many_pieces_is_read(void **state) {
    (void)state;
    // three megabytes of small elements, whose tags cross the borders of pieces
    enum { N = 200000 };
    char *text = malloc(16 * N + 16);
    assert_non_null(text);
    int n = sprintf(text, "<a>");
    for (int i = 0; i < N; i++) {
        n += sprintf(text + n, "<b i='%d'/>\n", i);
    }
    n += sprintf(text + n, "</a>");
    cri_xml xml;
    assert_int_equal(cri_xml_parse(text, (size_t)n, "s.xml", &xml, NULL), CR_OK);
    int count = 0;
    for (const cri_xml_node *b = xml.root->child; b; b = b->next) {
        assert_int_equal(atoi(cri_xml_get(b, "i")), count);
        assert_int_equal(b->line, count + 1);
        count++;
    }
    assert_int_equal(count, N);
    cri_xml_clear(&xml);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_keep_order_lines_and_attributes),
        cmocka_unit_test(an_empty_text_is_reported),
        cmocka_unit_test(syntax_errors_have_line_and_column),
        cmocka_unit_test(a_cut_off_text_is_said_to_end_too_early),
        cmocka_unit_test(a_doctype_is_refused),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(as_many_levels_as_allowed_are_read),
        cmocka_unit_test(a_text_of_many_pieces_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
