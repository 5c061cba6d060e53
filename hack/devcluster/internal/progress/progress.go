// SPDX-License-Identifier: Apache-2.0

// Package progress prints what is going on, with the time since the start in front.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// heartbeat is the longest silence during a long step. A first run builds Kubernetes for a quarter
// of an hour, and a reader who sees nothing for a minute takes it for dead.
const heartbeat = 15 * time.Second

// Printer writes one line per event. It may be used from several goroutines.
type Printer struct {
	out   io.Writer
	now   func() time.Time
	start time.Time
	mu    sync.Mutex
}

// New returns a printer whose clock starts now.
func New(out io.Writer) *Printer {
	return &Printer{out: out, now: time.Now, start: time.Now()}
}

// Printf prints one line such as "[ 0:14] node ready".
func (p *Printer) Printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Progress goes to a terminal or a log; there is nobody to tell when that is gone.
	_, _ = fmt.Fprintf(p.out, "[%s] %s\n", Clock(p.now().Sub(p.start)), fmt.Sprintf(format, args...))
}

// During runs work and prints a line at its start and at least every 15 seconds until it ends.
func (p *Printer) During(what string, work func() error) error {
	p.Printf("%s", what)
	started := p.now()
	done := make(chan struct{})
	var beats sync.WaitGroup
	beats.Go(func() {
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				p.Printf("%s … %s", what, Clock(p.now().Sub(started)))
			}
		}
	})
	err := work()
	close(done)
	beats.Wait()
	return err
}

// Clock formats a duration as minutes and seconds, padded so that lines stay aligned for an hour.
func Clock(d time.Duration) string {
	seconds := int(d.Seconds())
	return fmt.Sprintf("%2d:%02d", seconds/60, seconds%60)
}
