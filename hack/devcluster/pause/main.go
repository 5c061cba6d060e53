// SPDX-License-Identifier: Apache-2.0

// Command pause holds the namespaces of a Pod open, and of the whole cluster too, by doing nothing.
// As "pause probe ADDRESS…" it is the workload of the cluster's self-check instead: it connects to
// the addresses and says by its exit code what it found.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "probe" {
		if err := probe(os.Args[2], os.Args[3:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	child := make(chan os.Signal, 16)
	signal.Notify(child, syscall.SIGCHLD)
	for {
		select {
		case <-stop:
			return
		case <-child:
			reap()
		}
	}
}

// reap collects processes that were left to us: with a shared PID namespace this is their init, and
// they would stay behind as zombies.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
	}
}
