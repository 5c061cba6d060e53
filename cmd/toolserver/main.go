// SPDX-License-Identifier: Apache-2.0

//go:build linux

// The toolserver is process 1 of a sandbox Pod. It runs tool calls for the manager; see internal/toolserver.
//
// With the argument scan-staged it is what git asks in a sandbox before a commit: it looks for secrets in what is staged in
// the current folder. With unpack, and what follows it, it unpacks the packages of a skill before the tools start.
//
// Environment:
//
//	MOTOR_POD_UID      the Pod's UID
//	MOTOR_POD_IP       the Pod's address: default the first of its interfaces; IPv4 first
//	MOTOR_MANAGER_KEY  the manager's public keys, base64 of DER, separated by commas
//	MOTOR_WORKSPACE    the folder that tools work in: default /workspace
//	MOTOR_STATE        the folder of the server's own records: default /motor
//	MOTOR_WORKSPACE_BYTES, MOTOR_TMP_BYTES, MOTOR_STATE_BYTES
//	                   the most that the folders for work, for temporary files and for records may hold: default no bound
//	MOTOR_PACKAGES     the folder with the packages of the run's skill: default none
//	MOTOR_NET_TABLES   the folder with the kernel's tables of connections: default /proc/self/net
//	TMPDIR             the folder for temporary files of tools: default /tmp
//	PATH               where bash, node and python3 are
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver"
	"motorcortex.dev/motorcortex/internal/toolserver/disk"
	"motorcortex.dev/motorcortex/internal/toolserver/packages"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
	"motorcortex.dev/motorcortex/internal/toolserver/program"
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func main() {
	if proc.IsChild() {
		os.Exit(proc.RunChild())
	}
	if len(os.Args) == 2 && os.Args[1] == program.ScanStagedVerb {
		os.Exit(program.ScanStaged(context.Background(), os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == packages.UnpackVerb {
		os.Exit(packages.Unpack(os.Args[2:], os.Stderr))
	}
	os.Exit(serve(nil))
}

// exitTerminated is the status of a tool server that received a signal to end. With status 0 the kubelet would count the Pod as succeeded, also if
// it evicted it, and no message would show why the sandbox is gone.
const exitTerminated = 128 + int(syscall.SIGTERM)

// serve serves until the process receives a signal to end, and returns its exit status. fault is for tests.
func serve(fault func(toolserver.FaultPoint, string)) int {
	listen := flag.String("listen", "", "address to listen on (default: the Pod's own, port "+strconv.Itoa(toolapi.Port)+")")
	flag.Parse()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := run(log, *listen, fault); err != nil {
		log.Error("the tool server ends", "error", err)
		return 1
	}
	return exitTerminated
}

func run(log *slog.Logger, listen string, fault func(toolserver.FaultPoint, string)) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if runtime.GOMAXPROCS(0) == 2 && os.Getenv("GOMAXPROCS") == "" {
		// The runtime uses two processors at least, also if the Pod's limit is one. The server has no work for a second one, and the time that it spends
		// on keeping it busy is lost to the programs of the calls.
		runtime.GOMAXPROCS(1)
	}
	sizes, err := disk.SizesOf(os.Getenv)
	if err != nil {
		return err
	}
	if err := proc.Prepare(sizes); err != nil {
		return err
	}
	keys, err := toolserver.ParseManagerKeys(os.Getenv("MOTOR_MANAGER_KEY"))
	if err != nil {
		return fmt.Errorf("MOTOR_MANAGER_KEY: %w", err)
	}
	address, err := proc.PodAddress(os.Getenv("MOTOR_POD_IP"))
	if err != nil {
		return fmt.Errorf("find the Pod's own address (MOTOR_POD_IP): %w", err)
	}
	if listen == "" {
		if !address.IsValid() {
			return errors.New("the Pod has no address to listen on: set MOTOR_POD_IP")
		}
		// On all addresses, clients that no wall stops could also reach the server.
		listen = netip.AddrPortFrom(address, toolapi.Port).String()
	}
	server, err := toolserver.New(toolserver.Config{
		Workspace:   cmp.Or(os.Getenv("MOTOR_WORKSPACE"), "/workspace"),
		State:       cmp.Or(os.Getenv("MOTOR_STATE"), "/motor"),
		Packages:    os.Getenv("MOTOR_PACKAGES"),
		NetTables:   os.Getenv("MOTOR_NET_TABLES"),
		TempDir:     cmp.Or(os.Getenv("TMPDIR"), "/tmp"),
		SearchPath:  cmp.Or(os.Getenv("PATH"), defaultPath),
		Disk:        sizes,
		PodUID:      os.Getenv("MOTOR_POD_UID"),
		Address:     address,
		ManagerKeys: keys,
		Logger:      log,
		Fault:       fault,
	})
	if err != nil {
		return err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	log.Info("the tool server listens", "address", ln.Addr().String(), "key", server.ServerKey())
	// The end of the process closes everything else. Server.Close would wait for a call that cannot be killed, and the Pod would not end in time.
	return server.Serve(ctx, ln)
}
