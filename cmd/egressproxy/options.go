// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"motorcortex.dev/motorcortex/internal/audit/ocsf"
	"motorcortex.dev/motorcortex/internal/egress"
)

// auditLog is the audit format of lines of the log.
const auditLog = "log"

// options are the proxy's flags and the values from its Pod's environment.
type options struct {
	listen         string
	metricsAddress string
	healthAddress  string
	namespace      string
	dnsServer      string
	upstreamCAFile string
	shutdownDelay  time.Duration
	shutdownGrace  time.Duration
	auditFormat    string
	limits         egress.Limits

	// audit gets the audit lines if they are not in the log.
	audit   io.Writer
	podName string
	// roots verify hosts with a credential. Nil means those of the system.
	roots *x509.CertPool
}

func (o *options) bind(fs *flag.FlagSet) {
	fs.StringVar(&o.listen, "listen", ":3128", "address that sandboxes connect to")
	fs.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "address of the metrics, 0 for none")
	fs.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", "address of the probes, 0 for none")
	fs.StringVar(&o.namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the grants (POD_NAMESPACE)")
	fs.StringVar(&o.dnsServer, "dns-server", "", "IP:port of the only DNS server that is asked; unset, those of the Pod's resolv.conf")
	fs.StringVar(&o.upstreamCAFile, "upstream-ca-file", "", "PEM file of certificate authorities that are trusted, besides the system's, for hosts with a credential")
	fs.StringVar(&o.auditFormat, "audit-format", auditLog, "where the audit lines go: log, as lines of the log; ocsf, to the standard output as JSON lines of OCSF "+ocsf.Version)
	fs.DurationVar(&o.shutdownDelay, "shutdown-delay", 3*time.Second, "how long new connections are still taken after the signal to end, while the cluster learns of it")
	fs.DurationVar(&o.shutdownGrace, "shutdown-grace", 25*time.Second, "how long open connections may go on after that")
	fs.IntVar(&o.limits.Connections, "max-connections-per-run", 0, "connections that a run has open at once (default 64)")
	fs.IntVar(&o.limits.Requests, "max-requests-per-run", 0, "requests of a run within a minute (default 600)")
	fs.IntVar(&o.limits.Names, "max-names-per-run", 0, "new host names of a run within a minute (default 60)")
	fs.Int64Var(&o.limits.Bytes, "max-bytes-per-run", 0, "bytes that a run moves within an hour (default 8 GiB)")
	fs.IntVar(&o.limits.Total, "max-connections", 0, "connections that are open at once, of all runs (default 16384)")
}

func (o *options) complete() error {
	if o.namespace == "" {
		return errors.New("no namespace: set --namespace or POD_NAMESPACE to the namespace of the grants")
	}
	if o.dnsServer != "" {
		if _, err := netip.ParseAddrPort(o.dnsServer); err != nil {
			return fmt.Errorf("--dns-server must be IP:port: %w", err)
		}
	}
	if err := ocsf.CheckFormat(o.auditFormat, auditLog); err != nil {
		return err
	}
	if o.shutdownDelay < 0 || o.shutdownGrace <= 0 {
		return errors.New("--shutdown-delay must not be negative, and --shutdown-grace must be positive")
	}
	if l := o.limits; l.Connections < 0 || l.Requests < 0 || l.Names < 0 || l.Bytes < 0 || l.Total < 0 {
		return errors.New("no limit can be negative")
	}
	o.podName = os.Getenv("POD_NAME")
	if o.podName == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("name this proxy: %w", err)
		}
		o.podName = host
	}
	return o.readRoots()
}

// readRoots adds to the system's authorities. A file that names none is a mistake, and not an empty answer.
func (o *options) readRoots() error {
	if o.upstreamCAFile == "" {
		return nil
	}
	text, err := os.ReadFile(o.upstreamCAFile)
	if err != nil {
		return fmt.Errorf("--upstream-ca-file: %w", err)
	}
	if o.roots, err = x509.SystemCertPool(); err != nil {
		return fmt.Errorf("read the system's certificate authorities: %w", err)
	}
	if !o.roots.AppendCertsFromPEM(text) {
		return fmt.Errorf("--upstream-ca-file: %s has no certificate in it", o.upstreamCAFile)
	}
	return nil
}
