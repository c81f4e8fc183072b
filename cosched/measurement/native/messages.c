/* Times messages between two processes: over a socket, or by MPI where this is compiled with -DMPI.

   messages ROUNDS SEED (local|tcp|listen:PORT:TOKEN|connect:PORT:TOKEN:HOST) BYTES…

   Between two hosts one listens and the other connects, on one of a few ports from PORT on; each begins only with a peer
   that knows the token.

   Prints a line for each sample: test, bytes, microseconds. The tests:
   pingpong  half of the time there and back;
   send      until a sender has its processor back, whose receiver waits;
   receive   until a receiver has a message that is there. */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef MPI
#include <mpi.h>
#else
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

static int rank;
static char *buffer;

#ifdef MPI
static void start(int *count, char ***words, const char *kind)
{
    int ranks;
    (void)kind;
    MPI_Init(count, words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
}
static void put(long bytes) { MPI_Send(buffer, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD); }
static void get(long bytes) { MPI_Recv(buffer, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
static void finish(void) { MPI_Finalize(); }
#else
#define PORTS 8
#define PATIENCE 25
#define TOKEN 16
static int peer, forked;

/* Whoever listens speaks last: a stranger who connects hears nothing that he could say himself. */
static int greeted(int other, const char *token, int speaks)
{
    char heard[TOKEN + 1] = {0};
    struct timeval patience = {2, 0}, none = {0, 0};
    setsockopt(other, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if ((speaks && send(other, token, TOKEN, MSG_NOSIGNAL) != TOKEN) ||
        recv(other, heard, TOKEN, MSG_WAITALL) != TOKEN || memcmp(heard, token, TOKEN) ||
        (!speaks && send(other, token, TOKEN, MSG_NOSIGNAL) != TOKEN))
        return 0;
    setsockopt(other, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
    return 1;
}

static int accepted(int first, const char *token)
{
    int on = 1, door = socket(AF_INET, SOCK_STREAM, 0), port = first;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    for (; port < first + PORTS; port++) {
        address.sin_port = htons(port);
        if (!bind(door, (void *)&address, sizeof address))
            break;
    }
    if (port == first + PORTS || listen(door, 4))
        return -1;
    alarm(PATIENCE + 5);
    for (;;) {
        int other = accept(door, 0, 0);
        if (other >= 0 && greeted(other, token, 0)) {
            alarm(0);
            close(door);
            return other;
        }
        if (other >= 0)
            close(other);
    }
}

static int connected(int first, const char *token, const char *host)
{
    const char *names[] = {host, strrchr(host, '@') ? strrchr(host, '@') + 1 : host, "127.0.0.1"};
    for (time_t end = time(0) + PATIENCE; time(0) < end; usleep(200000))
        for (int k = 0; k < 3; k++)
            for (int port = first; port < first + PORTS; port++) {
                char service[16];
                struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
                snprintf(service, sizeof service, "%d", port);
                if (getaddrinfo(names[k], service, &hints, &found))
                    break;
                int other = socket(AF_INET, SOCK_STREAM, 0);
                struct timeval patience = {2, 0};
                setsockopt(other, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
                int reached = !connect(other, found->ai_addr, found->ai_addrlen) && greeted(other, token, 1);
                freeaddrinfo(found);
                if (reached)
                    return other;
                close(other);
            }
    return -1;
}

/* "listen:PORT:TOKEN" or "connect:PORT:TOKEN:HOST" */
static void meet(const char *kind)
{
    int port, on = 1;
    char token[TOKEN + 1], host[256];
    rank = *kind == 'c';
    if (rank ? sscanf(kind, "connect:%d:%16[^:]:%255s", &port, token, host) != 3
             : sscanf(kind, "listen:%d:%16[^:]", &port, token) != 2)
        exit(2);
    peer = rank ? connected(port, token, host) : accepted(port, token);
    if (peer < 0)
        exit(3);
    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void start(int *count, char ***words, const char *kind)
{
    int pair[2], on = 1;
    (void)count, (void)words;
    if (!strncmp(kind, "listen:", 7) || !strncmp(kind, "connect:", 8)) {
        meet(kind);
        return;
    }
    forked = 1;
    if (!strcmp(kind, "local")) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
            exit(3);
    } else {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof address;
        int door = socket(AF_INET, SOCK_STREAM, 0);
        if (door < 0 || bind(door, (void *)&address, length) || listen(door, 1) ||
            getsockname(door, (void *)&address, &length))
            exit(3);
        pair[0] = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(pair[0], (void *)&address, length) || (pair[1] = accept(door, 0, 0)) < 0)
            exit(3);
        close(door);
        for (int k = 0; k < 2; k++)
            setsockopt(pair[k], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    rank = fork() == 0;
    peer = pair[rank];
    close(pair[1 - rank]);
}
/* An empty message is a byte here: a socket has no smaller one. */
static void put(long bytes)
{
    long left = bytes ? bytes : 1, done;
    for (char *at = buffer; left; at += done, left -= done)
        if ((done = write(peer, at, left)) <= 0)
            exit(3);
}
static void get(long bytes)
{
    long left = bytes ? bytes : 1, done;
    for (char *at = buffer; left; at += done, left -= done)
        if ((done = read(peer, at, left)) <= 0)
            exit(rank ? 0 : 3);
}
static void finish(void)
{
    fflush(stdout);
    close(peer);
    if (rank == 0 && forked)
        wait(0);
}
#endif

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void pass(double microseconds)
{
    for (double until = now() + microseconds; now() < until;)
        ;
}

static void together(void)
{
    if (rank == 0)
        put(1), get(1);
    else
        get(1), put(1);
}

static double pingpong(long bytes)
{
    together();
    double begin = now();
    if (rank == 0)
        put(bytes), get(bytes);
    else
        get(bytes), put(bytes);
    return (now() - begin) / 2;
}

int main(int count, char **words)
{
    if (count < 5)
        return 2;
    start(&count, &words, words[3]);
    long rounds = atol(words[1]), sizes = count - 4, bytes[sizes], largest = 1;
    int order[sizes];
    srand(atoi(words[2])); /* both processes draw the same orders */
    for (int k = 0; k < sizes; k++) {
        order[k] = k;
        bytes[k] = atol(words[k + 4]);
        largest = bytes[k] > largest ? bytes[k] : largest;
    }
    buffer = malloc(largest);
    memset(buffer, 1, largest);
    for (long round = 0; round < rounds; round++) {
        for (int k = sizes - 1; k > 0; k--) {
            int other = rand() % (k + 1), kept = order[k];
            order[k] = order[other];
            order[other] = kept;
        }
        for (int k = 0; k < sizes; k++) {
            long size = bytes[order[k]];
            double took = pingpong(size), begin;
            took = pingpong(size); /* the first one fetched the pages */
            if (rank == 0)
                printf("pingpong %ld %.6g\n", size, took);
            together();
            if (rank == 0) { /* the other one is in its receive by then */
                pass(10);
                begin = now();
                put(size);
                printf("send %ld %.6g\n", size, now() - begin);
            } else
                get(size);
            together();
            if (rank == 1)
                put(size);
            else { /* it has come by then */
                pass(20 + 3 * took);
                begin = now();
                get(size);
                printf("receive %ld %.6g\n", size, now() - begin);
            }
        }
        if (rank == 0)
            fflush(stdout);
    }
    finish();
    return 0;
}
