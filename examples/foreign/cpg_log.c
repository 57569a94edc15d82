/* A member of a corosync CPG group that writes its log for `raincheck conform --log-format corosync`.
 *
 *     gcc -o cpg_log cpg_log.c -lcpg          (Debian: libcpg-dev; the daemon must be running)
 *     ./cpg_log GROUP MESSAGES MILLISECONDS > member.log
 *
 * It joins, sends numbered messages, one each so many milliseconds, and leaves when it gets SIGTERM.
 * The log has a line for each callback, in the order in which CPG calls. To log a program of your
 * own, print the same lines in its callbacks, with an id that is unique among a sender's messages.
 */
#include <corosync/cpg.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static uint32_t own_node;
static int joined, gone;
static volatile sig_atomic_t leaving;

static const char *reason(uint32_t why)
{
    switch (why) {
    case CPG_REASON_LEAVE: return "leave";
    case CPG_REASON_NODEDOWN: return "nodedown";
    case CPG_REASON_PROCDOWN: return "procdown";
    default: return "other";
    }
}

static void list(const char *word, const struct cpg_address *who, size_t count, int with_reason)
{
    printf(" %s", word);
    for (size_t i = 0; i < count; i++) {
        printf(" %" PRIu32 ":%" PRIu32, who[i].nodeid, who[i].pid);
        if (with_reason)
            printf("/%s", reason(who[i].reason));
    }
}

static void deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid,
                    void *message, size_t length)
{
    (void)handle, (void)group;
    printf("deliver %" PRIu32 ":%" PRIu32 " %.*s\n", node, pid, (int)length, (char *)message);
}

static void changed(cpg_handle_t handle, const struct cpg_name *group,
                    const struct cpg_address *members, size_t how_many,
                    const struct cpg_address *left, size_t how_many_left,
                    const struct cpg_address *came, size_t how_many_came)
{
    (void)handle, (void)group;
    int in = 0;
    for (size_t i = 0; i < how_many; i++)
        in |= members[i].nodeid == own_node && members[i].pid == (uint32_t)getpid();
    gone = joined && !in;
    joined |= in;
    printf("confchg");
    list("members", members, how_many, 0);
    list("left", left, how_many_left, 1);
    list("joined", came, how_many_came, 0);
    printf("\n");
}

static void leave(int signal) { (void)signal, leaving = 1; }

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000u + time.tv_nsec / 1000000u;
}

static void check(const char *call, cs_error_t answer)
{
    if (answer != CS_OK) {
        fprintf(stderr, "%s answers %d\n", call, answer);
        exit(1);
    }
}

int main(int count, char **words)
{
    if (count != 4 || strlen(words[1]) >= CPG_MAX_NAME_LENGTH) {
        fprintf(stderr, "usage: cpg_log GROUP MESSAGES MILLISECONDS\n");
        return 2;
    }
    struct cpg_name group = {.length = strlen(words[1])};
    memcpy(group.value, words[1], group.length);
    const int messages = atoi(words[2]), gap = atoi(words[3]);
    cpg_callbacks_t callbacks = {deliver, changed};
    cpg_handle_t handle;
    struct pollfd waits = {.events = POLLIN};
    cs_error_t answer;
    int sent = 0, left = 0;

    setvbuf(stdout, NULL, _IOLBF, 0); /* what was delivered is in the log, also after a crash */
    signal(SIGTERM, leave);
    check("cpg_initialize", cpg_initialize(&handle, &callbacks));
    check("cpg_local_get", cpg_local_get(handle, &own_node));
    check("cpg_fd_get", cpg_fd_get(handle, &waits.fd));
    printf("self %" PRIu32 ":%d\n", own_node, getpid());
    while ((answer = cpg_join(handle, &group)) == CS_ERR_TRY_AGAIN)
        poll(NULL, 0, 10);
    check("cpg_join", answer);
    for (uint64_t next = now(); !gone;) {
        if (poll(&waits, 1, gap < 10 ? gap : 10) > 0)
            check("cpg_dispatch", cpg_dispatch(handle, CS_DISPATCH_ALL));
        if (leaving && !left)
            left = cpg_leave(handle, &group) == CS_OK;
        else if (!leaving && joined && sent < messages && now() >= next) {
            char text[16];
            struct iovec payload = {text, (size_t)snprintf(text, sizeof text, "%d", sent + 1)};
            if (cpg_mcast_joined(handle, CPG_TYPE_AGREED, &payload, 1) == CS_OK) {
                printf("sent %d\n", ++sent);
                next += gap;
            }
        }
    }
    cpg_finalize(handle);
    return 0;
}
