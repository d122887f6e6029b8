# SPDX-License-Identifier: Apache-2.0
# Makes the list of everything that the project's own <cuda.h>, <cupti.h>, <nccl.h> or <nvml.h> declares:
# one macro call per constant, type and field. A line that it does not understand is an error, so
# nothing can be declared without being compared.
#
# Calls (*_calls.h) are compared by the compiler (abi_calls.c); from these files only the renames.

function refuse(why) {
    printf "%s:%d: %s: %s\n", FILENAME, FNR, why, $0 > "/dev/stderr"
    failed = 1
    exit 1
}

function last_name(text) {
    gsub(/[;,\[].*/, "", text)
    gsub(/.*[ *]/, "", text)
    return text
}

function field(name) {
    fields[field_count++] = name
}

function close_type(name, i) {
    printf "RKT_ABI_SIZE(%s)\n", name
    for (i = 0; i < field_count; i++)
        printf "RKT_ABI_FIELD(%s, %s)\n", name, fields[i]
    field_count = 0
    in_type = 0
}

# A struct or union inside a type: its fields so far get its name in front.
function close_nested(name, i) {
    for (i = nested_first[--nested_depth]; i < field_count; i++)
        fields[i] = name "." fields[i]
}

/^\/\*/ || in_comment { in_comment = !/\*\//; next }
/^$/ { next }
/^#define [A-Za-z0-9_]+_H$/ { next }
/^#define cu[A-Z]/ { printf "RKT_ABI_RENAME(%s)\n", $2; next }
/^#define [A-Z_0-9]+ / { printf "RKT_ABI_VALUE(%s)\n", $2; next }
/^#define nvml[A-Za-z]+ 0x/ { printf "RKT_ABI_VALUE(%s)\n", $2; next }
/^#(include|ifn?def|endif)/ { next }
FILENAME ~ /_calls\.h$/ { next }

/^typedef enum .*\{$/ { in_enum = 1; next }
in_enum && /^    [A-Za-z0-9_]+ = / { printf "RKT_ABI_VALUE(%s)\n", $1; next }
in_enum && /^\} [A-Za-z0-9_]+;$/ { printf "RKT_ABI_SIZE(%s)\n", last_name($0); in_enum = 0; next }

/^typedef (struct|union) .*\{$/ { in_type = 1; next }
in_type && /^ +(struct|union) \{$/ { nested_first[nested_depth++] = field_count; next }
in_type && /^ +\} [A-Za-z0-9_]+;$/ { close_nested(last_name($0)); next }
in_type && /^ +[A-Za-z_].*;( \/\*.*)?$/ { sub(/;.*/, ";"); field(last_name($0)); next }
in_type && /^\} [A-Za-z0-9_]+;$/ { close_type(last_name($0)); next }

/^typedef struct [A-Za-z_]+ [A-Za-z_]+;$/ { next } # incomplete here on purpose
/^typedef [^(]*;$/ { printf "RKT_ABI_SIZE(%s)\n", last_name($0); next }

{ refuse("not understood by abi_list.awk") }
END { if (!failed && (in_enum || in_type || nested_depth || in_comment)) refuse("ends inside a type") }
