/* A load generator for one endpoint on loopback; it reads every answer to its end and checks it.
 *
 *   load --port P --body FILE [--path PATH] [--header "name: value"]... [--connections C] [--requests N] [--limit SECONDS]
 *        [--stream] [--events N] [--ramp MS] [--rate R]
 *
 * Closed loop: each of C connections sends its next request when its answer has come. --ramp spreads their first requests over that
 * time. With --rate, requests start R times a second, whatever became of the earlier ones, and are timed from when they were due.
 * An answer is good if its status is 200 and its framing whole; if it is a stream, with [DONE] as its last event and, where --events is
 * given, exactly that many events with text. The outcome is one JSON object on stdout; times are microseconds.
 */

#include "wire.h"

#include <sys/timerfd.h>

#define MAX_SAMPLES 8000000

typedef struct {
    int fd;
    bool busy, in_body, keep, watched;
    int status;
    uint64_t begun, first;
    size_t sent;
    Buffer in, body;
    Framing framing;
    long contents, events, tokens;
    bool done;
} Connection;

typedef struct {
    uint32_t *values;
    size_t count, room;
} Samples;

static struct {
    int port;
    const char *path, *body_file;
    Buffer headers;
    long connections, requests, expected, ramp_ms;
    double rate, limit;
    bool stream;
} options = {.path = "/v1/chat/completions", .connections = 16, .requests = 1000, .expected = -1, .limit = 30};

static int poller;
static Buffer request;
static struct sockaddr_in target;
static Connection *connections;
static long started, good, failed, events, tokens, connects;
static Samples latencies, first_texts, delays;
static char first_error[240];

static void sample(Samples *s, uint64_t value) {
    if (s->count == MAX_SAMPLES) return;
    if (s->count == s->room) {
        s->room = s->room ? s->room * 2 : 4096;
        s->values = realloc(s->values, s->room * sizeof *s->values);
        if (!s->values) die("memory");
    }
    s->values[s->count++] = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* ---- one call */

static void begin(Connection *c, uint64_t due);

static void disconnect(Connection *c) {
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
}

static void next_in_loop(Connection *c) {
    if (options.rate <= 0 && started < options.requests) begin(c, now_us());
}

static void fail(Connection *c, const char *reason) {
    failed++;
    if (!first_error[0]) {
        int shown = c->body.length < 120 ? (int)c->body.length : 120;
        snprintf(first_error, sizeof first_error, "%s (status %d) %.*s", reason, c->status, shown, shown ? c->body.data : "");
        for (char *p = first_error; *p; p++)
            if (*p < ' ' || *p == '"' || *p == '\\') *p = ' ';
    }
    disconnect(c);
    c->busy = false;
}

static bool connect_now(Connection *c) {
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    no_delay(c->fd);
    if (connect(c->fd, (struct sockaddr *)&target, sizeof target)) return false;
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event);
    c->watched = false;
    connects++;
    return true;
}

static void write_request(Connection *c) {
    while (c->sent < request.length) {
        ssize_t written = send(c->fd, request.data + c->sent, request.length - c->sent, MSG_NOSIGNAL);
        if (written < 0) break; /* a peer that has gone is noticed by reading */
        c->sent += (size_t)written;
    }
    bool wanted = c->sent < request.length;
    if (wanted == c->watched) return;
    struct epoll_event event = {.events = EPOLLIN | (wanted ? EPOLLOUT : 0), .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
    c->watched = wanted;
}

static void begin(Connection *c, uint64_t due) {
    started++;
    c->busy = c->keep = true;
    c->in_body = c->done = false;
    c->begun = due;
    c->first = 0;
    c->status = 0;
    c->contents = c->events = c->tokens = 0;
    c->sent = c->in.length = c->body.length = 0;
    if (c->fd < 0 && !connect_now(c)) {
        fail(c, "cannot connect");
        return; /* the main loop tries again */
    }
    write_request(c);
}

static const char *judge(const Connection *c) {
    if (c->status != 200) return "refused";
    if (c->in.length) return "bytes behind the answer";
    if (!options.stream) return contains(c->body.data, c->body.length, "benchmark answer") ? NULL : "another answer than the mock's";
    if (!c->done) return "the stream ended without [DONE]";
    if (c->body.length) return "half an event at the end of the stream";
    if (options.expected >= 0 && c->contents != options.expected) return "events are missing or too many";
    return NULL;
}

static void finish(Connection *c, uint64_t now) {
    const char *reason = judge(c);
    if (reason) {
        fail(c, reason);
    } else {
        good++;
        events += c->events;
        tokens += c->tokens;
        sample(&latencies, now - c->begun);
        if (c->first) sample(&first_texts, c->first - c->begun);
        c->busy = false;
        if (!c->keep) disconnect(c);
    }
    next_in_loop(c);
}

/* ---- reading */

static void take_line(Connection *c, const char *line, size_t length, uint64_t now) {
    if (length < 6 || memcmp(line, "data:", 5) != 0) return;
    c->events++;
    if (contains(line, length, "[DONE]")) {
        c->done = true;
        return;
    }
    c->done = false; /* nothing may follow it */
    const char *usage = memmem(line, length, "\"completion_tokens\":", 20);
    if (usage) c->tokens = strtol(usage + 20, NULL, 10);
    const char *mark = memmem(line, length, "\" @", 3);
    if (mark) {
        uint64_t written = strtoull(mark + 3, NULL, 10);
        sample(&delays, now > written ? now - written : 0);
        c->contents++;
    }
    if (!c->first) c->first = now;
}

static void take_lines(Connection *c, uint64_t now) {
    size_t at = 0;
    char *newline;
    while (at < c->body.length && (newline = memchr(c->body.data + at, '\n', c->body.length - at)) != NULL) {
        size_t length = (size_t)(newline - c->body.data) - at;
        *newline = 0;
        take_line(c, c->body.data + at, length, now);
        at += length + 1;
    }
    buffer_drop(&c->body, at);
}

static bool take_head(Connection *c) {
    size_t length = head_length(&c->in);
    if (!length) return false;
    c->status = c->in.length > 12 ? atoi(c->in.data + 9) : 0;
    if (c->status == 100) {
        buffer_drop(&c->in, length);
        return take_head(c);
    }
    const char *value = field(c->in.data, length, "connection:");
    c->keep = !value || strncasecmp(value, "close", 5) != 0;
    c->framing = framing_of(c->in.data, length);
    c->in_body = true;
    buffer_drop(&c->in, length);
    return true;
}

static void receive(Connection *c) {
    buffer_reserve(&c->in, READ_SIZE);
    ssize_t got = recv(c->fd, c->in.data + c->in.length, READ_SIZE, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (!c->busy) { /* closed while idle, or bytes that nobody asked for */
        disconnect(c);
        return;
    }
    if (got <= 0) {
        fail(c, "the connection was closed in the middle of an answer");
        next_in_loop(c);
        return;
    }
    uint64_t now = now_us();
    c->in.length += (size_t)got;
    if (!c->in_body && !take_head(c)) return;
    buffer_drop(&c->in, framing_take(&c->framing, c->in.data, c->in.length, &c->body));
    if (options.stream && c->status == 200) take_lines(c, now);
    if (c->framing.stage == WHOLE) {
        finish(c, now);
    } else if (c->framing.stage > WHOLE) {
        fail(c, c->framing.stage == UNFRAMED ? "an answer of unknown length" : "broken chunked framing");
        next_in_loop(c);
    }
}

/* ---- starting calls when they are due */

static void begin_due(uint64_t start, uint64_t now, long *ramped) {
    if (options.rate > 0) {
        long at = 0;
        while (started < options.requests) {
            uint64_t due = start + (uint64_t)((double)started * 1e6 / options.rate);
            if (due > now) return;
            while (at < options.connections && connections[at].busy) at++;
            if (at == options.connections) return; /* it waits, and its time runs */
            begin(&connections[at], due);
        }
        return;
    }
    double share = options.ramp_ms ? (double)(now - start) / ((double)options.ramp_ms * 1000) : 1;
    long wanted = share >= 1 ? options.connections : 1 + (long)(share * (double)options.connections);
    if (wanted > options.connections) wanted = options.connections;
    for (; *ramped < wanted; (*ramped)++)
        if (started < options.requests) begin(&connections[*ramped], now);
    for (long i = 0; i < *ramped && failed; i++) /* those whose connection was refused */
        if (!connections[i].busy && started < options.requests) begin(&connections[i], now);
}

static void arm(int timer, uint64_t start, uint64_t now) {
    uint64_t at = now + 20000;
    if (options.rate > 0) at = start + (uint64_t)((double)started * 1e6 / options.rate);
    else if (options.ramp_ms) at = now + 1000;
    if (at <= now) at = now + 500;
    struct itimerspec when = {.it_value = {(time_t)(at / 1000000), (long)(at % 1000000) * 1000}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static double run(void) {
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, ready[256];
    epoll_ctl(poller, EPOLL_CTL_ADD, timer, &event);
    uint64_t start = now_us(), now = start, deadline = start + (uint64_t)(options.limit * 1e6);
    long ramped = 0;
    while (good + failed < options.requests && now < deadline) {
        begin_due(start, now, &ramped);
        if (good + failed >= options.requests) break;
        if (options.rate > 0 || ramped < options.connections || failed) arm(timer, start, now);
        int count = epoll_wait(poller, ready, 256, 100);
        for (int i = 0; i < count; i++) {
            Connection *c = ready[i].data.ptr;
            uint64_t ticks;
            if (!c) {
                if (read(timer, &ticks, sizeof ticks) < 0) continue;
            } else if (c->fd >= 0) {
                if (ready[i].events & EPOLLOUT) write_request(c);
                if (ready[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(c);
            }
        }
        now = now_us();
    }
    return (double)(now_us() - start) / 1e6;
}

/* ---- outcome */

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void print_samples(const char *name, Samples *s) {
    if (s->count) qsort(s->values, s->count, sizeof *s->values, ascending);
    uint32_t middle = s->count ? s->values[(s->count - 1) / 2] : 0;
    uint32_t high = s->count ? s->values[(size_t)((double)(s->count - 1) * 0.99)] : 0;
    printf(",\"%s\":{\"p50\":%u,\"p99\":%u,\"most\":%u}", name, middle, high, s->count ? s->values[s->count - 1] : 0);
}

static void print_outcome(double seconds) {
    printf("{\"requests\":%ld,\"good\":%ld,\"failed\":%ld,\"unfinished\":%ld,\"seconds\":%.6f,\"events\":%ld,\"tokens\":%ld,\"connects\":%ld",
           options.requests, good, failed, options.requests - good - failed, seconds, events, tokens, connects);
    print_samples("latency", &latencies);
    print_samples("first_text", &first_texts);
    print_samples("delay", &delays);
    printf(",\"first_error\":\"%s\"}\n", first_error);
}

/* ---- what was asked for */

static void read_options(int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        const char *name = arguments[i], *value = i + 1 < count ? arguments[i + 1] : "";
        if (strcmp(name, "--stream") == 0) {
            options.stream = true;
            continue;
        }
        i++;
        if (strcmp(name, "--port") == 0) options.port = atoi(value);
        else if (strcmp(name, "--path") == 0) options.path = value;
        else if (strcmp(name, "--body") == 0) options.body_file = value;
        else if (strcmp(name, "--header") == 0) buffer_text(&options.headers, value), buffer_text(&options.headers, "\r\n");
        else if (strcmp(name, "--connections") == 0) options.connections = atol(value);
        else if (strcmp(name, "--requests") == 0) options.requests = atol(value);
        else if (strcmp(name, "--events") == 0) options.expected = atol(value);
        else if (strcmp(name, "--ramp") == 0) options.ramp_ms = atol(value);
        else if (strcmp(name, "--rate") == 0) options.rate = atof(value);
        else if (strcmp(name, "--limit") == 0) options.limit = atof(value);
        else fprintf(stderr, "load: unknown option %s\n", name), exit(2);
    }
    bool bounded = options.connections > 0 && options.connections <= 16384 && options.requests > 0 && options.requests <= 10000000 &&
                   options.limit > 0 && options.limit <= 600;
    if (options.port <= 0 || options.port > 65535 || !options.body_file || !bounded) {
        fprintf(stderr, "load: --port and --body are needed, and numbers within their bounds\n");
        exit(2);
    }
}

static void build_request(void) {
    Buffer body = {0};
    FILE *file = fopen(options.body_file, "rb");
    if (!file) die(options.body_file);
    for (size_t got = 1; got; body.length += got) {
        buffer_reserve(&body, READ_SIZE);
        got = fread(body.data + body.length, 1, READ_SIZE, file);
    }
    fclose(file);
    char line[1024];
    snprintf(line, sizeof line, "POST %.700s HTTP/1.1\r\nhost: 127.0.0.1:%d\r\ncontent-type: application/json\r\naccept: */*\r\n"
             "user-agent: benchmark\r\ncontent-length: %zu\r\n", options.path, options.port, body.length);
    buffer_text(&request, line);
    if (options.headers.length) buffer_append(&request, options.headers.data, options.headers.length);
    buffer_text(&request, "\r\n");
    buffer_append(&request, body.data, body.length);
    buffer_free(&body);
}

int main(int count, char **arguments) {
    read_options(count, arguments);
    build_request();
    target = loopback(options.port);
    poller = epoll_create1(EPOLL_CLOEXEC);
    connections = calloc((size_t)options.connections, sizeof *connections);
    if (!connections) die("memory");
    for (long i = 0; i < options.connections; i++) connections[i].fd = -1;
    print_outcome(run());
    return 0;
}
