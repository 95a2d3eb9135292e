/* SPDX-License-Identifier: MIT */
/* rread.c - how many whole files a second can some readers open, read, close?
 *
 * usage: rread READERS COUNT SEED < PATHS
 *
 * Each reader is a process and reads COUNT of the paths, drawn at random.
 * Prints one line: files/s of all together, MB/s, and the median and 99th
 * percentile of one file's time in microseconds. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct paths {
	char **names;
	size_t count;
};

static void *must(void *p)
{
	if (!p || p == MAP_FAILED) {
		perror("rread");
		exit(2);
	}
	return p;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static struct paths read_paths(void)
{
	struct paths p = { NULL, 0 };
	size_t room = 0, cap = 0;
	char *line = NULL;
	ssize_t n;

	while ((n = getline(&line, &cap, stdin)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (p.count == room) {
			room = room ? room * 2 : 1024;
			p.names = must(realloc(p.names,
					       room * sizeof(*p.names)));
		}
		p.names[p.count++] = must(strdup(line));
	}
	free(line);
	return p;
}

/* Bytes of the file; ends the program when it can not be read. */
static uint64_t read_whole(const char *path)
{
	static char buf[1 << 20];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t sum = 0;
	ssize_t n = -1;

	if (fd >= 0)
		while ((n = read(fd, buf, sizeof(buf))) > 0)
			sum += (uint64_t)n;
	if (n < 0) {
		perror(path);
		_exit(1);
	}
	close(fd);
	return sum;
}

static void reader(const struct paths *p, size_t count, uint64_t seed,
		   float *times, uint64_t *bytes)
{
	for (size_t i = 0; i < count; i++) {
		size_t k = next_random(&seed) % p->count;
		double start = now();

		*bytes += read_whole(p->names[k]);
		times[i] = (float)((now() - start) * 1e6);
	}
	_exit(0);
}

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	size_t readers, count, total;
	struct paths paths;
	uint64_t *bytes, sum = 0;
	int bad = 0, status;
	float *times;
	double took;

	if (argc != 4) {
		fprintf(stderr, "usage: rread READERS COUNT SEED < PATHS\n");
		return 2;
	}
	readers = strtoul(argv[1], NULL, 10);
	count = strtoul(argv[2], NULL, 10);
	paths = read_paths();
	total = readers * count;
	if (!paths.count || !total)
		return 2;
	times = must(mmap(NULL, total * sizeof(*times), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	bytes = must(mmap(NULL, readers * sizeof(*bytes),
			  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0));
	took = now();
	for (size_t r = 0; r < readers; r++)
		if (fork() == 0)
			reader(&paths, count,
			       strtoull(argv[3], NULL, 10) * 1000 + r,
			       times + r * count, bytes + r);
	while (wait(&status) > 0)
		bad |= status;
	took = now() - took;
	if (bad)
		return 1;
	for (size_t r = 0; r < readers; r++)
		sum += bytes[r];
	qsort(times, total, sizeof(*times), by_value);
	printf("%.0f %.1f %.0f %.0f\n", (double)total / took,
	       (double)sum / took / 1e6, (double)times[total / 2],
	       (double)times[total * 99 / 100]);
	return 0;
}
