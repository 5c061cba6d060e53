// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	probeDeadline = 20 * time.Second
	dialTimeout   = 500 * time.Millisecond
	probeInterval = 50 * time.Millisecond
	// refusalsNeeded is how often in a row a connection has to fail before the policy counts as
	// enforced; one failure can also be a route that is not there yet.
	refusalsNeeded = 3
)

// probe runs one of three checks until it holds or its time is over:
//
//	open ADDRESS…    every address accepts a connection
//	closed ADDRESS…  no address does, several times in a row
//	resolve NAME…    every name has an address
func probe(kind string, targets []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), probeDeadline)
	defer cancel()
	check, ok := map[string]func(context.Context, string) error{
		"open": connect, "closed": refused, "resolve": resolve,
	}[kind]
	if !ok {
		return fmt.Errorf("unknown probe %q", kind)
	}
	for _, target := range targets {
		if err := until(ctx, func() error { return check(ctx, target) }); err != nil {
			return fmt.Errorf("%s %s: %w", kind, target, err)
		}
	}
	return nil
}

// until repeats check until it holds; the last error explains why it never did.
func until(ctx context.Context, check func() error) error {
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(probeInterval):
		}
	}
}

func connect(ctx context.Context, address string) error {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// refused holds when connections are stopped on the way. "Connection refused" by a reset is a
// policy's answer too (kube-router rejects), so every failure to connect counts but one of our own.
func refused(ctx context.Context, address string) error {
	for range refusalsNeeded {
		err := connect(ctx, address)
		if err == nil {
			return errors.New("a connection was accepted")
		}
		if !stopped(err) {
			return err
		}
	}
	return nil
}

func stopped(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout() || errors.Is(err, syscall.ECONNREFUSED) ||
		errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM)
}

func resolve(ctx context.Context, name string) error {
	addresses, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		return err
	}
	if len(addresses) == 0 {
		return fmt.Errorf("no address (resolvers: %s)", strings.TrimSpace(resolvConf()))
	}
	return nil
}

func resolvConf() string {
	content, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return err.Error()
	}
	return string(content)
}
