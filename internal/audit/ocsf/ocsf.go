// SPDX-License-Identifier: Apache-2.0

// Package ocsf has the events of the audit in the Open Cybersecurity Schema Framework, as JSON lines that a SIEM reads. It has those classes and attributes
// of the schema that the audit uses.
package ocsf

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Version is that of the schema.
const Version = "1.6.0"

// Classes, each with its category.
const (
	categoryNetwork, classNetwork  = 4, 4001
	categoryApplication, classCall = 6, 6003
)

// Activity is what was done, by the class of the event.
type Activity int

// Activities of decisions, which are of the class API Activity.
const (
	ActivityCreate Activity = 1
	ActivityUpdate Activity = 3
)

// Activities of connections, which are of the class Network Activity.
const (
	ActivityOpen   Activity = 1
	ActivityClose  Activity = 2
	ActivityRefuse Activity = 5
)

// Severity is how much an event matters.
type Severity int

// Severities.
const (
	Informational Severity = 1
	Low           Severity = 2
	High          Severity = 4
)

// Status is whether what was tried succeeded.
type Status int

// Statuses.
const (
	Success Status = 1
	Failure Status = 2
)

// Action is what a decision or a control led to, and Disposition the same of the profile security_control.
type Action int

// Actions.
const (
	Allowed Action = 1
	Denied  Action = 2
)

// Event is one line. Fields that have no value are left out.
type Event struct {
	Activity Activity `json:"activity_id"`
	Category int      `json:"category_uid"`
	Class    int      `json:"class_uid"`
	Type     int      `json:"type_uid"`
	Severity Severity `json:"severity_id"`
	// Time is in milliseconds since 1970.
	Time     int64    `json:"time"`
	Metadata Metadata `json:"metadata"`
	Message  string   `json:"message,omitempty"`

	Status       Status `json:"status_id,omitempty"`
	StatusDetail string `json:"status_detail,omitempty"`
	// Action and Disposition have the same numbers for allowed and denied.
	Action      Action `json:"action_id,omitempty"`
	Disposition Action `json:"disposition_id,omitempty"`
	// Count is how many events the line stands for, and Duration how many milliseconds it took.
	Count    int    `json:"count,omitempty"`
	Duration *int64 `json:"duration,omitempty"`

	Actor        *Actor         `json:"actor,omitempty"`
	API          *API           `json:"api,omitempty"`
	Resources    []Resource     `json:"resources,omitempty"`
	Source       *Endpoint      `json:"src_endpoint,omitempty"`
	Destination  *Endpoint      `json:"dst_endpoint,omitempty"`
	Connection   *Connection    `json:"connection_info,omitempty"`
	Traffic      *Traffic       `json:"traffic,omitempty"`
	FirewallRule *Named         `json:"firewall_rule,omitempty"`
	Unmapped     map[string]any `json:"unmapped,omitempty"`
}

// Metadata says what wrote the event.
type Metadata struct {
	Version  string   `json:"version"`
	Product  Product  `json:"product"`
	Profiles []string `json:"profiles,omitempty"`
	// UID is the same each time that the event is written, and CorrelationUID that of the run.
	UID            string `json:"uid,omitempty"`
	CorrelationUID string `json:"correlation_uid,omitempty"`
	LogName        string `json:"log_name,omitempty"`
}

// Product is a program of this project.
type Product struct {
	Name       string `json:"name"`
	VendorName string `json:"vendor_name"`
	Version    string `json:"version,omitempty"`
}

// Actor is who did it: a user, or a program.
type Actor struct {
	User    *Named `json:"user,omitempty"`
	AppName string `json:"app_name,omitempty"`
}

// Named is an object of which the name is known.
type Named struct {
	Name string `json:"name"`
}

// API is what was called.
type API struct {
	Operation string `json:"operation"`
	Service   Named  `json:"service"`
}

// Resource is what it was about.
type Resource struct {
	Type      string         `json:"type"`
	Name      string         `json:"name"`
	Namespace string         `json:"namespace,omitempty"`
	UID       string         `json:"uid,omitempty"`
	Data      map[string]any `json:"data,omitempty"`
}

// Endpoint is an end of a connection.
type Endpoint struct {
	IP       string `json:"ip,omitempty"`
	Hostname string `json:"hostname,omitempty"`
	Name     string `json:"name,omitempty"`
	Port     int    `json:"port,omitempty"`
	Service  string `json:"svc_name,omitempty"`
}

// Connection is how the ends were connected.
type Connection struct {
	// Direction is 2: out of the sandbox.
	Direction int    `json:"direction_id"`
	Protocol  string `json:"protocol_name"`
}

// Traffic is how many bytes were moved, out of the sandbox and into it.
type Traffic struct {
	Out int64 `json:"bytes_out"`
	In  int64 `json:"bytes_in"`
}

// Outbound is a connection by TCP out of a sandbox.
func Outbound() *Connection { return &Connection{Direction: 2, Protocol: "tcp"} }

// SecurityControl is the profile of events that have an Action.
const SecurityControl = "security_control"

// Network returns an event of the class Network Activity.
func Network(what Activity, at time.Time) *Event {
	return newEvent(categoryNetwork, classNetwork, what, at)
}

// Call returns an event of the class API Activity.
func Call(what Activity, at time.Time) *Event {
	return newEvent(categoryApplication, classCall, what, at)
}

func newEvent(category, class int, what Activity, at time.Time) *Event {
	return &Event{
		Activity: what, Category: category, Class: class, Type: class*100 + int(what), Severity: Informational, Time: at.UnixMilli(),
		Metadata: Metadata{Version: Version},
	}
}

// Decided notes what a control or a person decided.
func (e *Event) Decided(a Action) {
	e.Action, e.Disposition, e.Metadata.Profiles = a, a, []string{SecurityControl}
}

// Log writes events as lines.
type Log struct {
	mu sync.Mutex
	to io.Writer
}

// NewLog returns a log that writes to the writer, each line at once.
func NewLog(to io.Writer) *Log { return &Log{to: to} }

// Write writes one event, in at most MaxLine bytes and the end of the line. Of one that has more, long texts and lists are cut.
func (l *Log) Write(e *Event) error {
	line, err := encode(e)
	if err != nil {
		return fmt.Errorf("write an event of the audit: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.to.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write an event of the audit: %w", err)
	}
	return nil
}

// Format is the value of the flag --audit-format for lines of this package.
const Format = "ocsf"

// CheckFormat returns an error unless the value of the flag --audit-format is Format, or the other one that the program has.
func CheckFormat(format, other string) error {
	if format != Format && format != other {
		return fmt.Errorf("--audit-format is %q: it must be %s or %s", format, other, Format)
	}
	return nil
}

// Vendor is the vendor of all products.
const Vendor = "Motor Cortex"
