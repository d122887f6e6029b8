/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/json_forms.h"

#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "common/block.h"

#define LITERAL_BYTES_MAX 64u /* longer ones are several nodes */
#define SIBLINGS_MAX 32u
#define FIELDS_MAX 64u
#define LESSONS_MAX 1024u /* objects that are looked at, to learn from them */
#define DIGITS_MAX 18     /* so many always fit in 64 bits */

static_assert(2 * RKT_BLOCK_BYTES <= RKT_JSON_PADDING, "what is compared may be read");

/* What stands behind a node's literal. */
enum value_kind {
    VALUE_NONE,     /* the literal goes on in the next node */
    VALUE_END,      /* none, the literal is the object's end; from here on there is a field: */
    VALUE_CONSTANT, /* a text that is the literal's end, with its closing quote */
    VALUE_TEXT,     /* its closing quote begins the next literal */
    VALUE_DIGITS,
    VALUE_DECIMAL,
    VALUE_SCALAR, /* any other number, or a word */
    VALUE_LIST,
};

struct node {
    struct node *child; /* the first; NULL: none */
    struct node *sibling;
    uint32_t whole_blocks;       /* of the literal; then one more, in which those are */
    uint32_t tail_others;        /* no part of it */
    struct rkt_json_field field; /* all but where it stands; of a constant also its length */
    uint32_t value_back;         /* so far before the literal's end the value begins: a constant */
    uint32_t key_back;           /* so far before its value the key begins */
    uint8_t literal_bytes;       /* 1 to LITERAL_BYTES_MAX */
    uint8_t args_back;           /* so far before the literal's end args begin; 0: not in it */
    uint8_t value_kind;
    alignas(RKT_BLOCK_BYTES) char literal[LITERAL_BYTES_MAX];
};

struct rkt_json_forms {
    struct node *nodes; /* 0 is the root */
    size_t node_count;
    uint64_t kind_meanings;
    uint32_t lesson_count;
    struct rkt_json_parser *parser; /* of lessons */
    struct rkt_json_field fields[FIELDS_MAX];
};

/* ---- values: each from its first byte to behind its last; NULL: not one for us ---- */

/* A text "ph" may be the sign of an event that hides in another: json_damage.h. */
static inline bool is_phase_key(const char *text, const char *end)
{
    return end - text == 2 && text[0] == 'p' && text[1] == 'h';
}

/* To the next quote; backslashes, control characters and what is no ASCII are none for us. */
static inline const char *pass_text(const char *begin)
{
    const char *at = begin;
    uint32_t stops;

    while ((stops = rkt_block_no_text(at)) == 0)
        at += RKT_BLOCK_BYTES;
    at += (uint32_t)__builtin_ctz(stops);
    return *at == '"' && !is_phase_key(begin, at) ? at : NULL;
}

/* What numbers and words are made of. */
static bool is_of_word(char c)
{
#define FIVE(c) [(c)] = true, [(c) + 1] = true, [(c) + 2] = true, [(c) + 3] = true, [(c) + 4] = true
    static const bool ARE[256] = {
        FIVE('0'), FIVE('5'),    FIVE('A'),    FIVE('F'),    FIVE('K'),    FIVE('P'),
        FIVE('U'), ['Z'] = true, FIVE('a'),    FIVE('f'),    FIVE('k'),    FIVE('p'),
        FIVE('u'), ['z'] = true, ['-'] = true, ['+'] = true, ['.'] = true,
    };
#undef FIVE

    return ARE[(unsigned char)c];
}

/* Behind the digits at `at`, if there are any. */
static inline const char *skip_digits(const char *at)
{
    uint32_t stops;

    while ((stops = rkt_block_no_digits(at)) == 0)
        at += RKT_BLOCK_BYTES;
    return at + (uint32_t)__builtin_ctz(stops);
}

static inline const char *pass_digits(const char *begin)
{
    const char *at = skip_digits(begin);

    return at > begin && !is_of_word(*at) ? at : NULL;
}

static inline const char *pass_decimal(const char *begin)
{
    const char *point = skip_digits(begin);
    const char *at;

    if (point == begin || *point != '.')
        return NULL;
    at = skip_digits(point + 1);
    return at > point + 1 && !is_of_word(*at) ? at : NULL;
}

/* Neither of the two: whatever is read has one form. */
static const char *pass_scalar(const char *begin)
{
    const char *at = begin;

    if (pass_digits(begin) || pass_decimal(begin))
        return NULL;
    while (is_of_word(*at))
        at++;
    return at > begin ? at : NULL;
}

/* Numbers, words, texts and lists. */
static const char *pass_list(const char *at)
{
    size_t depth = 0;

    if (*at != '[')
        return NULL;
    for (;; at++) {
        while (is_of_word(*at) || *at == ',' || *at == ' ') /* nearly all of it */
            at++;
        switch (*at) {
        case '[':
            depth++;
            break;
        case ']':
            if (--depth == 0)
                return at + 1;
            break;
        case '"':
            at = pass_text(at + 1);
            if (!at)
                return NULL;
            break;
        case '\n':
        case '\r':
        case '\t':
            break;
        default:
            return NULL;
        }
    }
}

/* ---- reading ---- */

static inline bool has_literal(const struct node *node, const char *text)
{
    const char *literal = node->literal;

    for (uint32_t blocks = node->whole_blocks; blocks > 0; blocks--) {
        if (rkt_block_same(text, literal) != 0xffff)
            return false;
        text += RKT_BLOCK_BYTES;
        literal += RKT_BLOCK_BYTES;
    }
    return (rkt_block_same(text, literal) | node->tail_others) == 0xffff;
}

/* From behind the literal to behind the value; NULL: it is another. The most frequent ones
 * first. */
static inline const char *pass_value(const struct node *node, const char *at)
{
    if (node->value_kind == VALUE_DIGITS)
        return pass_digits(at);
    if (node->value_kind == VALUE_TEXT)
        return pass_text(at);
    if (node->value_kind == VALUE_DECIMAL)
        return pass_decimal(at);
    if (node->value_kind == VALUE_SCALAR)
        return pass_scalar(at);
    return node->value_kind == VALUE_LIST ? pass_list(at) : at;
}

static inline const char *pass_node(const struct node *node, const char *at)
{
    return has_literal(node, at) ? pass_value(node, at + node->literal_bytes) : NULL;
}

/*
 * Another child than the first that goes on at `at`, and the end of its value; NULL: none. It
 * becomes the first: the next object is most often like one of the last.
 */
static struct node *find_child(struct node *parent, const char *at, const char **end_out)
{
    for (struct node *before = parent->child; before && before->sibling; before = before->sibling) {
        struct node *node = before->sibling;

        *end_out = pass_node(node, at);
        if (!*end_out)
            continue;
        before->sibling = node->sibling;
        node->sibling = parent->child;
        parent->child = node;
        return node;
    }
    return NULL;
}

static inline void fill(struct rkt_json_field *field, const struct node *node, const char *begin,
                        const char *end)
{
    *field = node->field;
    field->value = begin - node->value_back;
    field->key = field->value - node->key_back;
    field->value_bytes += (size_t)(end - begin);
}

bool rkt_json_forms_read(struct rkt_json_forms *forms, const char *text,
                         const struct rkt_json_object_visitor *visitor,
                         struct rkt_json_object *object_out)
{
    struct node *node = &forms->nodes[0];
    struct rkt_json_field *field = forms->fields;
    const char *unread = NULL;
    const char *at = text;

    do {
        struct node *child = node->child;
        const char *end = child ? pass_node(child, at) : NULL;

        if (!end) {
            child = find_child(node, at, &end);
            if (!child)
                return false;
        }
        node = child;
        at += node->literal_bytes;
        if (node->args_back && visitor->wants_args &&
            !visitor->wants_args(visitor->ctx, forms->fields, (size_t)(field - forms->fields)))
            unread = at - node->args_back;
        if (node->value_kind > VALUE_END && !(unread && node->field.in_args))
            fill(field++, node, at, end);
        at = end;
    } while (node->value_kind != VALUE_END);
    object_out->fields = forms->fields;
    object_out->count = (size_t)(field - forms->fields);
    object_out->text = text;
    object_out->text_end = at;
    object_out->unread = unread;
    return true;
}

/* ---- learning ---- */

/* An object whose form is being added. */
struct lesson {
    struct rkt_json_forms *forms;
    const char *args; /* their '{'; NULL: none */
    size_t args_count;
};

static bool is_same(const struct node *a, const struct node *b)
{
    return a->literal_bytes == b->literal_bytes &&
           memcmp(a->literal, b->literal, a->literal_bytes) == 0 && a->args_back == b->args_back &&
           a->value_kind == b->value_kind && a->key_back == b->key_back &&
           a->field.key_bytes == b->field.key_bytes &&
           a->field.value_bytes == b->field.value_bytes && a->field.meaning == b->field.meaning &&
           a->field.in_args == b->field.in_args;
}

/* The parent's child that is like `node`, made if need be; NULL: no room for one more. */
static struct node *find_or_add(struct rkt_json_forms *forms, struct node *parent,
                                const struct node *node)
{
    size_t siblings = 0;
    struct node *child;

    for (child = parent->child; child; child = child->sibling) {
        if (is_same(child, node))
            return child;
        siblings++;
    }
    if (siblings >= SIBLINGS_MAX || forms->node_count >= RKT_JSON_FORM_NODES_MAX)
        return NULL;
    child = &forms->nodes[forms->node_count];
    *child = *node;
    if (child->value_kind == VALUE_CONSTANT)
        child->field.kind = (uint16_t)forms->node_count;
    forms->node_count++;
    child->sibling = parent->child;
    parent->child = child;
    return child;
}

/* At most LITERAL_BYTES_MAX bytes as the literal of a node, of which all else is given. */
static struct node *add_piece(const struct lesson *lesson, struct node *parent, const char *from,
                              const char *to, struct node node)
{
    size_t bytes = (size_t)(to - from);

    memcpy(node.literal, from, bytes);
    node.literal_bytes = (uint8_t)bytes;
    node.whole_blocks = (uint32_t)(bytes - 1) / RKT_BLOCK_BYTES;
    node.tail_others = 0xffffu & ~0u << ((bytes - 1) % RKT_BLOCK_BYTES + 1);
    if (lesson->args >= from && lesson->args < to)
        node.args_back = (uint8_t)(to - lesson->args);
    return find_or_add(lesson->forms, parent, &node);
}

/* A literal of any length, and what stands behind it. */
static struct node *add_literal(const struct lesson *lesson, struct node *parent, const char *from,
                                const char *to, struct node last)
{
    struct node piece = {.value_kind = VALUE_NONE};

    while (parent && to - from > LITERAL_BYTES_MAX) {
        const char *end = from + LITERAL_BYTES_MAX;
        const char *constant = to - 1 - last.field.value_bytes;

        if (last.value_kind == VALUE_CONSTANT && end > constant)
            end = constant; /* it stays whole */
        parent = add_piece(lesson, parent, from, end, piece);
        from = end;
    }
    return parent ? add_piece(lesson, parent, from, to, last) : NULL;
}

static bool is_kind(const struct rkt_json_forms *forms, const struct rkt_json_field *field)
{
    return field->is_text && !field->in_args && field->meaning < 64 &&
           (forms->kind_meanings >> field->meaning & 1) && field->value_bytes < LITERAL_BYTES_MAX &&
           !is_phase_key(field->value, field->value + field->value_bytes);
}

static void set_value_kind(struct node *node, enum value_kind kind, enum rkt_json_shape shape)
{
    node->value_kind = (uint8_t)kind;
    node->field.shape = (uint8_t)shape;
}

static struct node node_of(const struct rkt_json_forms *forms, const struct rkt_json_field *field)
{
    struct node node = {.field = *field, .key_back = (uint32_t)(field->value - field->key)};

    node.field.key = node.field.value = NULL;
    if (is_kind(forms, field)) {
        node.value_back = (uint32_t)field->value_bytes + 1;
        set_value_kind(&node, VALUE_CONSTANT, RKT_JSON_ANYTHING);
        return node;
    }
    node.field.value_bytes = 0;
    if (field->is_text)
        set_value_kind(&node, VALUE_TEXT, RKT_JSON_PLAIN_TEXT);
    else if (*field->value == '[')
        set_value_kind(&node, VALUE_LIST, RKT_JSON_ANYTHING);
    else if (pass_digits(field->value))
        set_value_kind(&node, VALUE_DIGITS, RKT_JSON_DIGITS);
    else if (pass_decimal(field->value))
        set_value_kind(&node, VALUE_DECIMAL, RKT_JSON_DECIMAL);
    else
        set_value_kind(&node, VALUE_SCALAR, RKT_JSON_ANYTHING);
    return node;
}

/* Objects among the values, and more than one "ph" or one behind args, are the parser's: what may
 * hide other events. */
static bool is_plain(const struct lesson *lesson, const struct rkt_json_object *object)
{
    size_t phase_count = 0;

    for (size_t i = 0; i < object->count; i++) {
        const struct rkt_json_field *field = &object->fields[i];

        bool is_phase = is_phase_key(field->key, field->key + field->key_bytes);

        phase_count += is_phase;
        if ((*field->value == '{' && !field->is_text) ||
            (is_phase && lesson->args && field->key > lesson->args))
            return false;
    }
    return phase_count <= 1 && lesson->args_count <= 1 && object->count <= FIELDS_MAX - 1;
}

static bool add_form(void *ctx, const struct rkt_json_object *object)
{
    const struct lesson *lesson = ctx;
    const char *from = object->text;
    struct node end = {.value_kind = VALUE_END};
    struct node *parent = &lesson->forms->nodes[0];

    if (!is_plain(lesson, object))
        return false;
    for (size_t i = 0; i < object->count && parent; i++) {
        const struct rkt_json_field *field = &object->fields[i];
        struct node node = node_of(lesson->forms, field);
        const char *value_end = field->value + field->value_bytes;
        bool is_constant = node.value_kind == VALUE_CONSTANT;

        parent =
            add_literal(lesson, parent, from, is_constant ? value_end + 1 : field->value, node);
        from = value_end + is_constant;
    }
    return add_literal(lesson, parent, from, object->text_end, end) != NULL;
}

static bool pass_args(void *ctx, const struct rkt_json_field *fields, size_t count)
{
    struct lesson *lesson = ctx;

    (void)fields;
    (void)count;
    lesson->args_count++;
    return false;
}

static bool note_args(void *ctx, const struct rkt_json_object *object)
{
    struct lesson *lesson = ctx;

    lesson->args = object->unread;
    return true;
}

/* Parsed twice: to know where args begin, and then what is in them. */
void rkt_json_forms_learn(struct rkt_json_forms *forms, const struct rkt_json_object *object)
{
    static const struct rkt_json_object_visitor EVERYTHING = {NULL, NULL, NULL};
    struct lesson lesson = {forms, NULL, 0};
    struct rkt_json_object_visitor looker = {&lesson, pass_args, note_args};
    struct rkt_json_object_visitor adder = {&lesson, NULL, add_form};
    size_t bytes = (size_t)(object->text_end - object->text);
    struct rkt_json_object known;
    size_t end;

    if (forms->lesson_count == LESSONS_MAX ||
        rkt_json_forms_read(forms, object->text, &EVERYTHING, &known))
        return;
    forms->lesson_count++;
    if (rkt_json_parse_object(forms->parser, object->text, bytes, &looker, &end) == RKT_JSON_DONE)
        (void)rkt_json_parse_object(forms->parser, object->text, bytes, &adder, &end);
}

/* ---- life cycle ---- */

struct rkt_json_forms *rkt_json_forms_create(rkt_json_meaning_fn meaning_of, uint64_t kind_meanings)
{
    struct rkt_json_forms *forms = calloc(1, sizeof(*forms));

    if (!forms)
        return NULL;
    forms->kind_meanings = kind_meanings;
    forms->parser = rkt_json_parser_create(meaning_of);
    /* most of it stays untouched */
    forms->nodes = calloc(RKT_JSON_FORM_NODES_MAX, sizeof(*forms->nodes));
    if (!forms->parser || !forms->nodes) {
        rkt_json_forms_destroy(forms);
        return NULL;
    }
    forms->node_count = 1;
    return forms;
}

void rkt_json_forms_destroy(struct rkt_json_forms *forms)
{
    if (!forms)
        return;
    rkt_json_parser_destroy(forms->parser);
    free(forms->nodes);
    free(forms);
}
