/* A mock of a model's server: answers every call at once, with a canned OpenAI answer, on loopback.
 *
 *   upstream PORT        0 takes a free port; the port is printed once it listens
 *
 * A body with "stream": true is answered by a stream of 64 events, written in one go. The text [events=N pace=M] anywhere in the body
 * asks for N events, M milliseconds apart. Each event's text is the time at which it was written, so that its reader can tell how long
 * it was on its way. A GET is answered by a list with one model. One thread, epoll, keep-alive.
 */

#include "wire.h"

#define DEFAULT_EVENTS 64
#define MAX_EVENTS 100000

#define CHUNK                                                                                                          \
    "{\"id\":\"chatcmpl-benchmark\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench-model\"," \
    "\"system_fingerprint\":\"fp_benchmark\","

static const char *const ANSWER =
    "{\"id\":\"chatcmpl-benchmark\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"bench-model\","
    "\"system_fingerprint\":\"fp_benchmark\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":"
    "\"benchmark answer: A reverse proxy keeps a connection open to each of its servers, sends a request down one that is idle, and "
    "hands the answer on as it comes. Doing this well means copying little, waiting for nothing that need not be waited for, and "
    "noticing at once when either side has gone.\"},\"logprobs\":null,\"finish_reason\":\"stop\"}],"
    "\"usage\":{\"prompt_tokens\":200,\"completion_tokens\":64,\"total_tokens\":264}}";
static const char *const MODELS =
    "{\"object\":\"list\",\"data\":[{\"id\":\"bench-model\",\"object\":\"model\",\"created\":1700000000,\"owned_by\":\"benchmark\"}]}";
static const char *const STREAM_HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
                                       "transfer-encoding: chunked\r\n\r\n";

typedef struct {
    int fd;
    Buffer in, body, out;
    size_t sent;
    Framing framing;
    bool reading_body, is_get, streaming, with_usage, watched, gone;
    long events, pace_ms;
    uint64_t due;
} Connection;

static int poller;

/* ---- streams that wait for their next event: a heap, the earliest first */

static Connection **waiting;
static size_t waiting_count, waiting_room;

static void wait_swap(size_t a, size_t b) {
    Connection *c = waiting[a];
    waiting[a] = waiting[b];
    waiting[b] = c;
}

static void wait_push(Connection *c) {
    if (waiting_count == waiting_room) {
        waiting_room = waiting_room ? waiting_room * 2 : 256;
        waiting = realloc(waiting, waiting_room * sizeof *waiting);
        if (!waiting) die("memory");
    }
    size_t at = waiting_count++;
    waiting[at] = c;
    for (; at && waiting[(at - 1) / 2]->due > waiting[at]->due; at = (at - 1) / 2) wait_swap(at, (at - 1) / 2);
}

static Connection *wait_pop(void) {
    Connection *first = waiting[0];
    waiting[0] = waiting[--waiting_count];
    for (size_t at = 0;;) {
        size_t least = at;
        for (size_t below = 2 * at + 1; below <= 2 * at + 2 && below < waiting_count; below++)
            if (waiting[below]->due < waiting[least]->due) least = below;
        if (least == at) return first;
        wait_swap(at, least);
        at = least;
    }
}

/* ---- connections */

static void connection_free(Connection *c) {
    buffer_free(&c->in);
    buffer_free(&c->body);
    buffer_free(&c->out);
    free(c);
}

/* One that waits for its next event is freed when that event is due. */
static void connection_close(Connection *c) {
    if (c->gone) return;
    close(c->fd);
    c->gone = true;
    if (!c->streaming) connection_free(c);
}

static void watch_writable(Connection *c, bool wanted) {
    if (c->watched == wanted) return;
    struct epoll_event event = {.events = EPOLLIN | (wanted ? EPOLLOUT : 0), .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
    c->watched = wanted;
}

/* Write what the socket takes. False where the peer has gone; the caller closes. */
static bool flush(Connection *c) {
    while (c->sent < c->out.length) {
        ssize_t written = send(c->fd, c->out.data + c->sent, c->out.length - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (written < 0 && errno == EAGAIN) {
            watch_writable(c, true);
            return true;
        }
        if (written < 0) return false;
        c->sent += (size_t)written;
    }
    c->sent = c->out.length = 0;
    watch_writable(c, false);
    return true;
}

/* ---- answers */

static void put_json(Connection *c, const char *body) {
    char head[160];
    snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n", strlen(body));
    buffer_text(&c->out, head);
    buffer_text(&c->out, body);
}

/* One event, a chunk of its own. */
static void put_event(Connection *c, const char *data) {
    char size[32];
    snprintf(size, sizeof size, "%zx\r\ndata: ", strlen(data) + 8);
    buffer_text(&c->out, size);
    buffer_text(&c->out, data);
    buffer_text(&c->out, "\n\n\r\n");
}

static void put_content(Connection *c, bool first) {
    char data[512];
    snprintf(data, sizeof data, CHUNK "\"choices\":[{\"index\":0,\"delta\":{%s\"content\":\" @%llu\"},\"logprobs\":null,\"finish_reason\":null}]}",
             first ? "\"role\":\"assistant\"," : "", (unsigned long long)now_us());
    put_event(c, data);
    c->events--;
}

static void put_end(Connection *c) {
    put_event(c, CHUNK "\"choices\":[{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\"}]}");
    if (c->with_usage)
        put_event(c, CHUNK "\"choices\":[],\"usage\":{\"prompt_tokens\":200,\"completion_tokens\":64,\"total_tokens\":264}}");
    put_event(c, "[DONE]");
    buffer_text(&c->out, "0\r\n\r\n");
}

static void schedule(Connection *c) {
    c->streaming = true;
    c->due += (uint64_t)c->pace_ms * 1000;
    wait_push(c);
}

static long number_after(const char *text, size_t length, const char *name, long otherwise, long most) {
    const char *at = memmem(text, length, name, strlen(name));
    long value = at ? strtol(at + strlen(name), NULL, 10) : otherwise;
    return value < 0 ? 0 : value > most ? most : value;
}

static void start_stream(Connection *c) {
    const char *marker = memmem(c->body.data, c->body.length, "[events=", 8);
    size_t length = marker ? (size_t)(c->body.data + c->body.length - marker) : 0;
    if (length > 64) length = 64;
    c->events = marker ? number_after(marker, length, "events=", DEFAULT_EVENTS, MAX_EVENTS) : DEFAULT_EVENTS;
    c->pace_ms = marker ? number_after(marker, length, "pace=", 0, 10000) : 0;
    c->with_usage = contains(c->body.data, c->body.length, "\"include_usage\"");
    buffer_text(&c->out, STREAM_HEAD);
    put_content(c, true);
    c->due = now_us();
    if (c->pace_ms) {
        schedule(c);
        return;
    }
    while (c->events > 0) put_content(c, false);
    put_end(c);
}

static void answer(Connection *c) {
    if (c->is_get) put_json(c, MODELS);
    else if (contains(c->body.data, c->body.length, "\"stream\":true") || contains(c->body.data, c->body.length, "\"stream\": true"))
        start_stream(c);
    else put_json(c, ANSWER);
}

/* Answer every request that has come whole. False where the connection is to be closed. */
static bool serve_input(Connection *c) {
    while (!c->streaming) {
        if (!c->reading_body) {
            size_t length = head_length(&c->in);
            if (!length) return c->in.length < MAX_HEAD;
            c->framing = framing_of(c->in.data, length);
            if (c->framing.stage == UNFRAMED) c->framing.stage = WHOLE;
            c->is_get = strncmp(c->in.data, "GET ", 4) == 0;
            c->body.length = 0;
            c->reading_body = true;
            buffer_drop(&c->in, length);
        }
        buffer_drop(&c->in, framing_take(&c->framing, c->in.data, c->in.length, &c->body));
        if (c->framing.stage == MALFORMED) return false;
        if (c->framing.stage != WHOLE) return true;
        c->reading_body = false;
        answer(c);
        if (!flush(c)) return false;
    }
    return true;
}

static bool receive(Connection *c) {
    buffer_reserve(&c->in, READ_SIZE);
    ssize_t got = recv(c->fd, c->in.data + c->in.length, READ_SIZE, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    c->in.length += (size_t)got;
    return serve_input(c);
}

/* ---- the loop */

static void accept_all(int listener) {
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        no_delay(fd);
        Connection *c = calloc(1, sizeof *c);
        if (!c) die("memory");
        c->fd = fd;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
    }
}

static void write_due(void) {
    uint64_t now = now_us();
    while (waiting_count && waiting[0]->due <= now) {
        Connection *c = wait_pop();
        c->streaming = false;
        if (c->gone) {
            connection_free(c);
            continue;
        }
        if (c->events > 0) {
            put_content(c, false);
            schedule(c);
        } else {
            put_end(c);
        }
        if (!flush(c) || !serve_input(c)) connection_close(c);
    }
}

static int wait_ms(void) {
    if (!waiting_count) return -1;
    uint64_t now = now_us();
    return waiting[0]->due <= now ? 0 : (int)((waiting[0]->due - now + 999) / 1000);
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: upstream PORT\n");
        return 2;
    }
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in address = loopback(atoi(arguments[1]));
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4096)) die("listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);

    poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[256];
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int ready = epoll_wait(poller, events, 256, wait_ms());
        for (int i = 0; i < ready; i++) {
            Connection *c = events[i].data.ptr;
            if (!c) {
                accept_all(listener);
                continue;
            }
            bool alive = true;
            if (events[i].events & EPOLLOUT) alive = flush(c);
            if (alive && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) alive = receive(c);
            if (!alive) connection_close(c);
        }
        write_due();
    }
}
