/* SPDX-License-Identifier: MIT */
/* rread.c - how many whole files a second can some readers open, read, close?
 *
 * usage: rread READERS < PATHS
 *
 * Each reader is a process and takes every READERS-th of the paths, in their order.
 * Prints one line: files/s of all together, bytes/s, bytes, and the median and
 * 99th percentile of one file's time in microseconds. */
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
			p.names =
				must(realloc(p.names, room * sizeof(*p.names)));
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

static void reader(const struct paths *p, size_t first, size_t step,
		   float *times, uint64_t *bytes)
{
	for (size_t i = first; i < p->count; i += step) {
		double start = now();

		*bytes += read_whole(p->names[i]);
		times[i] = (float)((now() - start) * 1e6);
	}
	_exit(0);
}

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Shared with the readers. */
static void *shared(size_t size)
{
	return must(mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

int main(int argc, char **argv)
{
	size_t readers = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	struct paths paths;
	uint64_t *bytes, sum = 0;
	int bad = 0, status;
	float *times;
	double took;

	if (!readers) {
		fprintf(stderr, "usage: rread READERS < PATHS\n");
		return 2;
	}
	paths = read_paths();
	if (!paths.count)
		return 2;
	times = shared(paths.count * sizeof(*times));
	bytes = shared(readers * sizeof(*bytes));
	took = now();
	for (size_t r = 0; r < readers; r++)
		if (fork() == 0)
			reader(&paths, r, readers, times, bytes + r);
	while (wait(&status) > 0)
		bad |= status;
	took = now() - took;
	if (bad)
		return 1;
	for (size_t r = 0; r < readers; r++)
		sum += bytes[r];
	qsort(times, paths.count, sizeof(*times), by_value);
	printf("%.1f %.0f %llu %.0f %.0f\n", (double)paths.count / took,
	       (double)sum / took, (unsigned long long)sum,
	       (double)times[paths.count / 2],
	       (double)times[paths.count * 99 / 100]);
	return 0;
}
