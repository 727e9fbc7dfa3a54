/* What the mock upstream and the load generator share: time, growing buffers, and the framing of HTTP/1.1 messages. */

#ifndef WIRE_H
#define WIRE_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define READ_SIZE 65536
#define MAX_HEAD 65536

static inline uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static inline void die(const char *what) {
    perror(what);
    exit(1);
}

static inline void no_delay(int fd) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static inline struct sockaddr_in loopback(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* ---- buffers */

typedef struct {
    char *data;
    size_t length, room;
} Buffer;

static inline void buffer_reserve(Buffer *b, size_t more) {
    if (b->room - b->length >= more) return;
    while (b->room - b->length < more) b->room = b->room ? b->room * 2 : 4096;
    b->data = realloc(b->data, b->room);
    if (!b->data) die("memory");
}

static inline void buffer_append(Buffer *b, const void *data, size_t length) {
    buffer_reserve(b, length);
    memcpy(b->data + b->length, data, length);
    b->length += length;
}

static inline void buffer_text(Buffer *b, const char *text) { buffer_append(b, text, strlen(text)); }

/* Drop bytes from the front. */
static inline void buffer_drop(Buffer *b, size_t length) {
    b->length -= length;
    if (b->length && length) memmove(b->data, b->data + length, b->length);
}

static inline void buffer_free(Buffer *b) {
    free(b->data);
    *b = (Buffer){0};
}

static inline bool contains(const char *data, size_t length, const char *text) {
    return length && memmem(data, length, text, strlen(text)) != NULL;
}

/* ---- messages */

/* Length of the head including its empty line; 0 where it has not all come. */
static inline size_t head_length(const Buffer *b) {
    char *end = b->length ? memmem(b->data, b->length, "\r\n\r\n", 4) : NULL;
    return end ? (size_t)(end - b->data) + 4 : 0;
}

/* Value of a header field in a head, up to its line's end; NULL where there is none. The name is given with its colon. */
static inline const char *field(const char *head, size_t length, const char *name) {
    size_t size = strlen(name);
    const char *end = head + length, *line = head;
    while ((line = memchr(line, '\n', (size_t)(end - line))) != NULL) {
        line++;
        if ((size_t)(end - line) <= size) return NULL;
        if (strncasecmp(line, name, size) == 0) {
            line += size;
            while (*line == ' ' || *line == '\t') line++;
            return line;
        }
    }
    return NULL;
}

typedef enum { COUNTED, CHUNK_SIZE, CHUNK_DATA, CHUNK_END, TRAILER, WHOLE, UNFRAMED, MALFORMED } Stage;

/* Where in the body of a message a reader is. */
typedef struct {
    Stage stage;
    size_t left;
} Framing;

static inline Framing framing_of(const char *head, size_t length) {
    const char *value = field(head, length, "transfer-encoding:");
    if (value) return (Framing){strncasecmp(value, "chunked", 7) == 0 ? CHUNK_SIZE : MALFORMED, 0};
    value = field(head, length, "content-length:");
    if (!value) return (Framing){UNFRAMED, 0};
    size_t left = strtoul(value, NULL, 10);
    return (Framing){left ? COUNTED : WHOLE, left};
}

/* A line of chunked framing: a chunk's size, or a trailer field. Returns the bytes it took, 0 where it has not all come. */
static inline size_t framing_line(Framing *f, const char *in, size_t length) {
    const char *newline = memchr(in, '\n', length);
    if (!newline) return 0;
    size_t taken = (size_t)(newline - in) + 1;
    bool ended = taken >= 2 && newline[-1] == '\r';
    if (f->stage == TRAILER) {
        f->stage = !ended ? MALFORMED : taken == 2 ? WHOLE : TRAILER;
        return taken;
    }
    char *after;
    f->left = strtoul(in, &after, 16);
    if (!ended || !isxdigit((unsigned char)*in) || (*after != '\r' && *after != ';')) f->stage = MALFORMED;
    else f->stage = f->left ? CHUNK_DATA : TRAILER;
    return taken;
}

/* Take what is whole of the next bytes, append the body in them to `body`; returns how many were taken. */
static inline size_t framing_take(Framing *f, const char *in, size_t length, Buffer *body) {
    size_t at = 0;
    while (at < length && f->stage < WHOLE) {
        if (f->stage == COUNTED || f->stage == CHUNK_DATA) {
            size_t part = length - at < f->left ? length - at : f->left;
            buffer_append(body, in + at, part);
            at += part;
            f->left -= part;
            if (!f->left) f->stage = f->stage == COUNTED ? WHOLE : CHUNK_END;
        } else if (f->stage == CHUNK_END) {
            if (length - at < 2) break;
            f->stage = in[at] == '\r' && in[at + 1] == '\n' ? CHUNK_SIZE : MALFORMED;
            at += 2;
        } else {
            size_t taken = framing_line(f, in + at, length - at);
            if (!taken) break;
            at += taken;
        }
    }
    return at;
}

#endif
