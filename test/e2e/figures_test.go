// SPDX-License-Identifier: Apache-2.0

//go:build e2e && figures

package e2e_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

const (
	figureCalls    = 400
	figureExecs    = 40
	figureOneshots = 15
)

// spawns times as many plain starts of the same program, in the same Pod, by a program that does nothing else.
const spawns = `
import os, time
took = []
for _ in range(%d):
    began = time.perf_counter_ns()
    pid = os.posix_spawn("/usr/bin/bash", ["bash", "-c", "--", "true"], os.environ)
    os.waitpid(pid, 0)
    took.append(time.perf_counter_ns() - began)
print(sorted(took)[len(took) // 2])
`

// What a tool call costs beside what it starts, as the engine sees it: from the request until the result is there.
func TestFiguresOfToolCalls(t *testing.T) {
	run := awaitQuestion(t, startRun(t, "ask"))
	box := toolServer(t, run)
	call := func(id, tool string, arguments any) (toolapi.Result, time.Duration) {
		t.Helper()
		content, err := json.Marshal(arguments)
		must(t, err)
		began := time.Now()
		r, err := box.Call(t.Context(), toolapi.Call{ID: id, Tool: tool, Arguments: content})
		took := time.Since(began)
		must(t, err)
		if !r.OK {
			t.Fatalf("%s: %+v", id, r)
		}
		return r, took
	}
	counted, _ := call("spawns", toolapi.ToolCode, toolapi.CodeArgs{Language: toolapi.LanguagePython, Source: fmt.Sprintf(spawns, figureCalls)})
	var nanoseconds int64
	_, err := fmt.Sscan(counted.Output, &nanoseconds)
	must(t, err)
	spawn := time.Duration(nanoseconds)

	var calls, execs []time.Duration
	for i := range figureCalls {
		_, took := call(fmt.Sprintf("true-%d", i), toolapi.ToolBash, toolapi.BashArgs{Command: "true"})
		calls = append(calls, took)
	}
	for range figureExecs {
		began := time.Now()
		inSandbox(t, run, "true")
		execs = append(execs, time.Since(began))
	}
	t.Logf("spawn of bash -c true in the Pod, p50 of %d: %s", figureCalls, spawn.Round(10*time.Microsecond))
	t.Logf("bash true as a tool call, p50 of %d: %s, %s more", figureCalls, median(calls), (median(calls) - spawn).Round(10*time.Microsecond))
	t.Logf("bash true by kubectl exec, p50 of %d: %s, %.1f times a tool call", figureExecs, median(execs), float64(median(execs))/float64(median(calls)))
}

func TestFiguresOfOneshots(t *testing.T) {
	var took []time.Duration
	for range figureOneshots {
		began := time.Now()
		run := startSample(t, "oneshot")
		wantCompleted(t, run, soon)
		took = append(took, time.Since(began))
	}
	t.Logf("Oneshot, from its creation until its result is seen, p50 of %d: %s", figureOneshots, median(took))
}

func median(list []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(list))[len(list)/2].Round(10 * time.Microsecond)
}

// toolServer connects to the tool server of a run that waits, as its manager would.
func toolServer(t *testing.T, run *v1alpha1.MotorRun) *toolclient.Client {
	t.Helper()
	var s corev1.Secret
	must(t, suite.client.Get(t.Context(), types.NamespacedName{Namespace: managerNamespace, Name: "motorcortex-manager-key"}, &s))
	block, _ := pem.Decode(s.Data["key.pem"])
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	must(t, err)
	cert, err := toolclient.ClientCertificate(key.(*ecdsa.PrivateKey))
	must(t, err)
	c, err := toolclient.New(toolclient.Config{
		Address: net.JoinHostPort(run.Status.Sandbox.PodIP, strconv.Itoa(toolapi.Port)), PodUID: run.Status.Sandbox.PodUID, ClientCert: cert, Epoch: run.Status.Execution.Epoch,
	})
	must(t, err)
	t.Cleanup(c.Close)
	return c
}
