// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// figure is what was measured of one way. What was not measured is 0.
type figure struct {
	// p50 and p99 are from nothing to the first byte of the host's answer.
	p50, p99 time.Duration
	// one and eight are bytes of a second over as many connections together, and the proxy's seconds for each GiB.
	one, eight, oneCPU, eightCPU float64
	// beside is the same of one connection while others are idle.
	beside, besideCPU float64
	// rss is the memory with idle tunnels, grown how much of it came with them.
	rss, grown int64
	// denied is how many requests of a second are refused.
	denied float64
}

// figures are those of each way, by its name.
type figures map[string]*figure

func (f figures) of(w *way) *figure {
	if f[w.name] == nil {
		f[w.name] = &figure{}
	}
	return f[w.name]
}

// better takes what is better in another round, figure by figure.
func (f figures) better(round figures) {
	for name, got := range round {
		best := f[name]
		if best == nil {
			f[name] = got
			continue
		}
		best.p50, best.p99 = min(best.p50, got.p50), min(best.p99, got.p99)
		if got.one > best.one {
			best.one, best.oneCPU = got.one, got.oneCPU
		}
		if got.eight > best.eight {
			best.eight, best.eightCPU = got.eight, got.eightCPU
		}
		if got.beside > best.beside {
			best.beside, best.besideCPU = got.beside, got.besideCPU
		}
		if got.rss < best.rss {
			best.rss, best.grown = got.rss, got.grown
		}
		best.denied = max(best.denied, got.denied)
	}
}

// table writes the figures as Markdown.
func (f figures) table(w io.Writer, ways []*way, s size) {
	plain := f[ways[0].name]
	row := func(what string, without string, cell func(*figure) string) {
		cells := []string{what, without}
		for _, way := range ways[1:] {
			cells = append(cells, cell(f[way.name]))
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	names := make([]string, 0, len(ways))
	for _, way := range ways {
		names = append(names, way.name)
	}
	fmt.Fprintf(w, "| | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---:|", len(ways)))
	row("new connection → first byte of the host's answer, p50", ms(plain.p50),
		func(g *figure) string { return "+" + ms(g.p50-plain.p50) })
	row("the same, p99", ms(plain.p99), func(g *figure) string { return "+" + ms(g.p99-plain.p99) })
	row("throughput of one tunnel", gib(plain.one), func(g *figure) string { return share(g.one, plain.one, g.oneCPU) })
	row(fmt.Sprintf("throughput of %d tunnels", parallel), gib(plain.eight),
		func(g *figure) string { return share(g.eight, plain.eight, g.eightCPU) })
	row(fmt.Sprintf("throughput of one tunnel beside %d idle ones", s.beside), "",
		func(g *figure) string { return share(g.beside, plain.one, g.besideCPU) })
	row(fmt.Sprintf("memory that %d idle tunnels add (process in all)", s.idle), "",
		func(g *figure) string { return fmt.Sprintf("%s (%s)", mib(g.grown), mib(g.rss)) })
	row("denied requests per second", "", func(g *figure) string { return fmt.Sprintf("%.0f", g.denied) })
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }

func gib(perSecond float64) string { return fmt.Sprintf("%.2f GiB/s", perSecond/(1<<30)) }

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

func share(got, of, cpu float64) string {
	return fmt.Sprintf("%.0f %% (%s, %.2f s of its processor time per GiB)", 100*got/of, gib(got), cpu)
}
