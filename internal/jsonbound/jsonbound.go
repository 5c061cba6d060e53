// SPDX-License-Identifier: Apache-2.0

// Package jsonbound estimates the cost of reading a JSON text before it is read. Three bytes, {},, can become a kilobyte in
// memory, and each open bracket uses a part of the stack. A model endpoint, a registry or a sandbox could craft a text of a megabyte
// that exhausts the memory of the shared process.
package jsonbound

import "fmt"

// Limits bound a text. A zero is no limit.
type Limits struct {
	// Depth is how deep arrays and objects may be nested.
	Depth int
	// Values is how many values it may have; nested values count, and names of fields do not count apart.
	Values int
	// Within is the depth down to which values are counted: a struct stores deeper values as raw JSON, and they cost no more than their bytes. Zero
	// counts all.
	Within int
}

// Check returns an error that names the limit that a text exceeds. It does not check whether the text is JSON. It counts at least as many
// values and as much depth as a reader of JSON finds before it fails.
func Check(text []byte, l Limits) error {
	c := Counter{Limits: l}
	return c.Add(text)
}

// Counter is Check for a text that comes in parts.
type Counter struct {
	Limits
	depth, values     int
	inString, escaped bool
}

// Add processes the next part of the text. After an error the Counter must not be used.
func (c *Counter) Add(part []byte) error {
	for _, b := range part {
		switch {
		case c.escaped:
			c.escaped = false
		case c.inString && b == '\\':
			c.escaped = true
		case b == '"':
			c.inString = !c.inString
		case c.inString:
		default:
			if err := c.mark(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// mark processes a byte that is in no string.
func (c *Counter) mark(b byte) error {
	switch b {
	case '{', '[':
		if c.depth++; c.Depth > 0 && c.depth > c.Depth {
			return fmt.Errorf("it is nested more than %d deep", c.Depth)
		}
	case '}', ']':
		c.depth = max(0, c.depth-1)
		return nil
	case ',':
	default:
		return nil
	}
	if c.Within > 0 && c.depth > c.Within {
		return nil
	}
	if c.values++; c.Values > 0 && c.values > c.Values {
		return fmt.Errorf("it has more than %d values", c.Values)
	}
	return nil
}
