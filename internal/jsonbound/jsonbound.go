// SPDX-License-Identifier: Apache-2.0

// Package jsonbound tells what a JSON text would cost to read before it is read. Three bytes, {},, can become a kilobyte in
// memory, and each bracket that is open takes a part of the stack: a text of a megabyte that a model endpoint, a registry or a
// sandbox made for that could take the memory of the process that serves everybody.
package jsonbound

import "fmt"

// Limits of a text. A zero is none.
type Limits struct {
	// Depth is how many arrays and objects may be within one another.
	Depth int
	// Values is how many values it may have, those within others and the names of fields not counted apart.
	Values int
	// Within is how deep values are counted: what a struct takes as raw JSON is below, and costs no more than its bytes. Zero
	// counts all.
	Within int
}

// Check says which limit a text does not keep. It does not say whether the text is JSON, and counts no fewer values and
// no less depth than a reader of JSON finds before it fails.
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

// Add takes the next part of the text. After an error it is of no more use.
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

// mark takes a byte that is in no string.
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
