// SPDX-License-Identifier: Apache-2.0

//go:build stores

package bucket_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"motorcortex.dev/motorcortex/internal/archive"
	"motorcortex.dev/motorcortex/internal/archive/bucket"
)

// The tests named TestStore… try the drivers with third-party servers. `make test-stores` builds these, sets their location in the
// environment, and runs the tests.

// emulatorAccount and emulatorKey are those of every emulator of Azure: its documentation has them.
const (
	emulatorAccount = "devstoreaccount1"
	emulatorKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// startServer starts a program of the environment and waits until its port answers. The program is killed when the test ends.
func startServer(t *testing.T, variable string, port string, environment []string, args ...string) {
	t.Helper()
	command := strings.Fields(os.Getenv(variable))
	if len(command) == 0 {
		t.Fatalf("%s is not set; run `make test-stores`, which sets it", variable)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = append(os.Environ(), environment...), &out, &out, t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	deadline := time.After(time.Minute)
	for {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s ended:\n%s", variable, out.String())
		case <-deadline:
			t.Fatalf("%s does not listen: %v", variable, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// freePort is one at which nothing listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// tryStore checks the requirements on every bucket, and those that only a server can show.
func tryStore(t *testing.T, rawURL, missing string) {
	t.Helper()
	tryBucket(t, rawURL)
	tryBucket(t, rawURL+"&prefix=a/b/")
	tryWriters(t, rawURL, 100)
	tryWriters(t, rawURL, 1_500_000) // more than one part
	b, err := bucket.Open(t.Context(), missing)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Check(t.Context()); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("looking for a bucket that is not there: %v", err)
	}
}

// tryWriters has several write under one key at the same time: two leaders within a moment. One must succeed, and what it wrote must stay.
func tryWriters(t *testing.T, rawURL string, lines int) {
	t.Helper()
	const writers = 6
	key := fmt.Sprintf("ns/race/%d.jsonl", lines)
	var errs [writers]error
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			b, err := bucket.Open(t.Context(), rawURL)
			if err == nil {
				defer b.Close()
				err = b.Write(t.Context(), key, text(strings.Repeat(fmt.Sprintln("written by", i), lines)))
			}
			errs[i] = err
		})
	}
	all.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner >= 0:
			t.Errorf("%d lines: %d and %d both wrote", lines, winner, i)
		case err == nil:
			winner = i
		case !errors.Is(err, archive.ErrExists):
			t.Errorf("%d lines: %d failed with %v", lines, i, err)
		}
	}
	b, err := bucket.Open(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got := read(t, b, key); winner < 0 || got != strings.Repeat(fmt.Sprintln("written by", winner), lines) {
		t.Errorf("%d lines: it holds %d bytes that begin with %q, and %d wrote: %v", lines, len(got), got[:min(len(got), 20)], winner, errs)
	}
}

func TestStoreS3(t *testing.T) {
	port := freePort(t)
	meta, data := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(data, "archives"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "key")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	startServer(t, "STORE_S3", port, []string{"ROOT_ACCESS_KEY_ID=id", "ROOT_SECRET_ACCESS_KEY=key"},
		"--port=127.0.0.1:"+port, "posix", "--sidecar="+meta, data)
	const url = "s3://%s?region=us-east-1&use_path_style=true&endpoint=http://127.0.0.1:%s"
	tryStore(t, fmt.Sprintf(url, "archives", port), fmt.Sprintf(url, "others", port))
}

func TestStoreGoogle(t *testing.T) {
	port := freePort(t)
	host := "127.0.0.1:" + port
	startServer(t, "STORE_GOOGLE", port, nil, "-backend=memory", "-scheme=http", "-host=127.0.0.1", "-port="+port, "-public-host="+host, "-external-url=http://"+host)
	resp, err := http.Post("http://"+host+"/storage/v1/b?project=p", "application/json", strings.NewReader(`{"name":"archives"}`))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("make a bucket: %v: %+v", err, resp)
	}
	_ = resp.Body.Close()
	t.Setenv("STORAGE_EMULATOR_HOST", host)
	tryStore(t, "gs://archives?anonymous=true", "gs://others")
}

func TestStoreAzure(t *testing.T) {
	withoutAzure(t)
	port := freePort(t)
	host := "127.0.0.1:" + port
	startServer(t, "STORE_AZURE", port, nil, "--silent", "--inMemoryPersistence", "--disableTelemetry", "--blobHost=127.0.0.1", "--blobPort="+port)
	endpoint := "http://" + host + "/" + emulatorAccount
	c, err := container.NewClientFromConnectionString("AccountName="+emulatorAccount+";AccountKey="+emulatorKey+";BlobEndpoint="+endpoint, "archives", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(t.Context(), nil); err != nil {
		t.Fatalf("make a container: %v", err)
	}
	t.Setenv("AZURE_STORAGE_ACCOUNT", emulatorAccount)
	t.Setenv("AZURE_STORAGE_KEY", emulatorKey)
	const url = "azblob://%s?protocol=http&domain=127.0.0.1:%s"
	tryStore(t, fmt.Sprintf(url, "archives", port), fmt.Sprintf(url, "others", port))
}
