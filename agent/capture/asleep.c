/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/asleep.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/capture/visit.h"
#include "common/clock.h"
#include "common/units.h"

#define LEAST_NS 1000000u /* what is worth a look at the file */
#define TEXT_BYTES 96     /* three numbers of 20 digits at most */

bool rkt_asleep_parse(const char *text, uint64_t *waited_ns)
{
    const char *second = strchr(text, ' ');
    const char *end = second ? strchr(second + 1, ' ') : NULL;
    char digits[TEXT_BYTES];

    if (!end || (size_t)(end - second) > sizeof(digits))
        return false;
    memcpy(digits, second + 1, (size_t)(end - second - 1));
    digits[end - second - 1] = '\0';
    return rkt_parse_u64(digits, waited_ns);
}

static bool read_waited(uint64_t *waited_ns)
{
    char text[TEXT_BYTES];
    ssize_t got_bytes = -1;
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        got_bytes = read(fd, text, sizeof(text) - 1);
        (void)close(fd);
    }
    if (got_bytes <= 0)
        return false;
    text[got_bytes] = '\0';
    return rkt_asleep_parse(text, waited_ns);
}

static void look(struct rkt_asleep *thread, uint64_t now_ns, uint64_t process_cpu_ns)
{
    thread->last.now_ns = now_ns;
    thread->last.process_cpu_ns = process_cpu_ns;
    thread->is_known = read_waited(&thread->last.waited_ns);
    thread->is_off = !thread->is_known;
}

/* a - b, but not below 0 */
static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Asleep or waiting for a core, since then. */
static uint64_t idle_since(const struct rkt_asleep_look *then, uint64_t now_ns,
                           uint64_t process_cpu_ns)
{
    return less(less(now_ns, then->now_ns), less(process_cpu_ns, then->process_cpu_ns));
}

void rkt_asleep_begin(struct rkt_asleep *thread, uint64_t now_ns, struct rkt_asleep_begin *begin)
{
    struct rkt_visit visit = rkt_visit_begin();
    uint64_t cpu_ns = thread->is_off ? 0 : rkt_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);

    if (!thread->is_off &&
        (!thread->is_known || idle_since(&thread->last, now_ns, cpu_ns) >= LEAST_NS))
        look(thread, now_ns, cpu_ns);
    *begin = (struct rkt_asleep_begin){.is_known = thread->is_known,
                                       .look = {now_ns, cpu_ns, thread->last.waited_ns}};
    rkt_visit_end(visit);
}

uint64_t rkt_asleep_end(struct rkt_asleep *thread, const struct rkt_asleep_begin *begin,
                        uint64_t now_ns)
{
    struct rkt_visit visit;
    uint64_t cpu_ns, idle_ns;

    if (!begin->is_known || thread->is_off || less(now_ns, begin->look.now_ns) < LEAST_NS)
        return 0;
    visit = rkt_visit_begin();
    cpu_ns = rkt_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    idle_ns = idle_since(&begin->look, now_ns, cpu_ns);
    if (idle_ns >= LEAST_NS) {
        look(thread, now_ns, cpu_ns);
        idle_ns =
            thread->is_off ? 0 : less(idle_ns, less(thread->last.waited_ns, begin->look.waited_ns));
    }
    rkt_visit_end(visit);
    return idle_ns >= LEAST_NS ? idle_ns : 0;
}
