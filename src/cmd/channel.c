/* SPDX-License-Identifier: MIT */
/* channel.c - messages between supervisor and daemon: one packet each, a letter
 * and text, with at most one descriptor. */
#include <sys/socket.h>

#include "h5fs/cmd.h"

union control {
	struct cmsghdr header; /* aligns */
	char buf[CMSG_SPACE(sizeof(int))];
};

int channel_send(int sock, enum channel_kind kind, const char *text, int fd)
{
	char letter = (char)kind;
	size_t n = text ? strlen(text) : 0;
	struct iovec iov[2] = {
		{ .iov_base = &letter, .iov_len = 1 },
		{ .iov_base = (void *)text,
		  .iov_len = n < CHANNEL_TEXT_MAX ? n : CHANNEL_TEXT_MAX },
	};
	union control control = { 0 };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };

	if (fd >= 0) {
		struct cmsghdr *c = &control.header;

		m.msg_control = &control;
		m.msg_controllen = sizeof(control.buf);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	while (sendmsg(sock, &m, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static int passed_fd(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

int channel_recv(int sock, enum channel_kind *ret_kind, struct strbuf *text,
		 int *ret_fd)
{
	CLEANUP(freep) char *buf = malloc(CHANNEL_TEXT_MAX + 1);
	struct iovec iov = { .iov_base = buf, .iov_len = CHANNEL_TEXT_MAX + 1 };
	union control control;
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.buf),
	};
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	do
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (n == 0)
		return -EPIPE;
	*ret_fd = passed_fd(&m);
	strbuf_done(text);
	strbuf_put(text, buf + 1, (size_t)n - 1);
	*ret_kind = (enum channel_kind)buf[0];
	return 0;
}
