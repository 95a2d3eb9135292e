/* SPDX-License-Identifier: MIT */
/* notify.c - tells whoever started us that the mount serves: notify=FD, and the
 * socket of systemd's sd_notify(3) protocol, spoken without its library. */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "h5fs/cmd.h"

static void tell_systemd(const char *text)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	CLEANUP(fd_closep) int fd = -1;
	size_t n = path ? strlen(path) : 0;

	if (n < 2 || n >= sizeof(to.sun_path) ||
	    (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(to.sun_path, path, n);
	if (path[0] == '@') /* an abstract one */
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, text, strlen(text), MSG_NOSIGNAL,
		     (struct sockaddr *)&to,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}

void notify_ready(int fd)
{
	char text[64];

	if (fd >= 0) {
		(void)io_write_all(fd, "READY=1\n", 8);
		if (fd > 2)
			close(fd);
	}
	snprintf(text, sizeof(text), "READY=1\nMAINPID=%d\n", (int)getpid());
	tell_systemd(text);
}

void notify_stopping(void)
{
	tell_systemd("STOPPING=1\n");
}
