/* SPDX-License-Identifier: MIT */
/* gate.c - lets the readers of this process through, but for the moment in which
 * a commit is applied. */
#include "store_int.h"

void gate_init(struct gate *g)
{
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->moved, NULL);
	g->readers = 0;
	g->closed = false;
}

void gate_done(struct gate *g)
{
	pthread_cond_destroy(&g->moved);
	pthread_mutex_destroy(&g->lock);
}

void gate_enter(struct gate *g)
{
	LOCK_SCOPE(&g->lock);
	while (g->closed)
		pthread_cond_wait(&g->moved, &g->lock);
	g->readers++;
}

void gate_leave(struct gate *g)
{
	LOCK_SCOPE(&g->lock);
	if (--g->readers == 0)
		pthread_cond_broadcast(&g->moved);
}

void gate_close(struct gate *g)
{
	LOCK_SCOPE(&g->lock);
	g->closed = true;
	while (g->readers)
		pthread_cond_wait(&g->moved, &g->lock);
}

void gate_open(struct gate *g)
{
	LOCK_SCOPE(&g->lock);
	g->closed = false;
	pthread_cond_broadcast(&g->moved);
}
