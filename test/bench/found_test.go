// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"time"

	"motorcortex.dev/motorcortex/test/bench/figures"
)

// measured is all that was measured of one way: a value of each round, but for took.
type measured struct {
	// took is from nothing to the first byte of the host's answer, of each connection.
	took []time.Duration
	// one and eight are GiB of a second over as many tunnels together, beside the same of one while others are idle.
	one, eight, beside []float64
	// processor is the proxy's seconds for each GiB of eight tunnels.
	processor []float64
	// tunnel is the KiB that an idle tunnel adds, resident the MiB of the process with all of them.
	tunnel, resident []float64
	// denied is how many requests of a second are refused.
	denied []float64
}

// found is what was measured of each way, by its name.
type found map[string]*measured

func (f found) of(w *way) *measured {
	if f[w.name] == nil {
		f[w.name] = &measured{}
	}
	return f[w.name]
}

// figures lists each figure of each way, and what bounds those of ours. A bound that another proxy sets is left out if that was not measured.
func (f found) figures(s size) (list []figures.Figure) {
	names := []string{"direct", "tinyproxy", "squid", ours}
	add := func(what string, of func(name string, m *measured) figures.Figure, bound func(own figures.Figure, others map[string]figures.Figure) figures.Figure) {
		others := map[string]figures.Figure{}
		for _, name := range names {
			m := f[name]
			if m == nil {
				continue
			}
			figure := of(name+": "+what, m)
			if figure.Of == 0 {
				continue
			}
			if name == ours {
				figure = bound(figure, others)
			}
			others[name] = figure
			list = append(list, figure)
		}
	}
	free := func(own figures.Figure, _ map[string]figures.Figure) figures.Figure { return own }
	add("new connection", func(name string, m *measured) figures.Figure { return figures.Of(name, m.took) }, boundConnection)
	add("one tunnel", func(name string, m *measured) figures.Figure { return figures.Rate(name, "GiB/s", m.one) }, boundTunnel)
	add(fmt.Sprintf("%d tunnels", parallel), func(name string, m *measured) figures.Figure { return figures.Rate(name, "GiB/s", m.eight) },
		func(own figures.Figure, others map[string]figures.Figure) figures.Figure {
			return own.Against("direct", others["direct"])
		})
	add(fmt.Sprintf("one tunnel beside %d idle ones", s.beside), func(name string, m *measured) figures.Figure { return figures.Rate(name, "GiB/s", m.beside) }, free)
	add(fmt.Sprintf("processor time per GiB of %d tunnels", parallel), func(name string, m *measured) figures.Figure { return figures.Amount(name, "s", m.processor) }, free)
	add("memory of an idle tunnel", func(name string, m *measured) figures.Figure { return figures.Amount(name, "KiB", m.tunnel) }, boundMemory)
	add(fmt.Sprintf("process with %d idle tunnels", s.idle), func(name string, m *measured) figures.Figure { return figures.Amount(name, "MiB", m.resident) }, free)
	add("denied requests", func(name string, m *measured) figures.Figure { return figures.Rate(name, "1/s", m.denied) }, free)
	return list
}

func boundConnection(own figures.Figure, others map[string]figures.Figure) figures.Figure {
	if tiny, ok := others["tinyproxy"]; ok {
		return own.Against("tinyproxy", tiny).Within(tiny.P50+0.1, "tinyproxy and 0.1 ms")
	}
	return own.Against("direct", others["direct"])
}

func boundTunnel(own figures.Figure, others map[string]figures.Figure) figures.Figure {
	direct, tiny := others["direct"], others["tinyproxy"]
	own = own.Against("direct", direct)
	if 3*tiny.P50 > direct.P50/2 {
		return own.Within(3*tiny.P50, "three times tinyproxy")
	}
	return own.Within(direct.P50/2, "half of direct")
}

func boundMemory(own figures.Figure, others map[string]figures.Figure) figures.Figure {
	if tiny, ok := others["tinyproxy"]; ok {
		return own.Against("tinyproxy", tiny).Within(tiny.P50, "tinyproxy")
	}
	return own
}
