// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"strings"
	"time"
)

// fault checks one fault; a field that its kind would ignore is an error, since
// its author expected something of it.
func (c *checker) fault(p field, raw rawFault) Fault {
	f := Fault{
		Kind:              FaultKind(raw.Kind),
		Times:             raw.Times,
		Delay:             c.delay(p.at("delay"), raw.Delay),
		Status:            raw.Status,
		RetryAfterSeconds: raw.RetryAfterSeconds,
		Code:              raw.Code,
		Message:           raw.Message,
	}
	if _, known := faultUsesAnswer[f.Kind]; !known {
		c.fail(p.at("kind"), "%q is not one of %s", raw.Kind, strings.Join(kinds(), " "))
	}
	if f.Times < 0 || f.Times > maxTimes {
		c.fail(p.at("times"), "has to be 0 (always) to %d", maxTimes)
	}
	switch f.Kind {
	case FaultStatus:
		if f.Status < 400 || f.Status > 599 {
			c.fail(p.at("status"), "has to be 400 to 599")
		}
		if f.RetryAfterSeconds < 0 || f.RetryAfterSeconds > maxRetryAfter {
			c.fail(p.at("retryAfterSeconds"), "has to be 0 to %d", maxRetryAfter)
		}
	case FaultSlow, FaultLate, FaultTrickle:
		if f.Delay == 0 {
			c.fail(p.at("delay"), "is missing")
		}
	case FaultHang, FaultStall:
		if f.Delay == 0 {
			f.Delay = defaultHang
		}
	default: // The other kinds have no fields of their own.
	}
	if f.Kind != FaultStatus && (raw.Status != 0 || raw.RetryAfterSeconds != 0 || raw.Code != "" || raw.Message != "") {
		c.fail(p, "status, retryAfterSeconds, code and message belong to kind %s", FaultStatus)
	}
	return f
}

func (c *checker) delay(p field, text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		c.fail(p, "%q is not a duration like 500ms", text)
		return 0
	}
	if d <= 0 || d > MaxDelay {
		c.fail(p, "has to be above 0 and at most %s", MaxDelay)
	}
	return d
}

func kinds() []string {
	var names []string
	for kind := range faultUsesAnswer {
		names = append(names, string(kind))
	}
	slices.Sort(names)
	return names
}
