// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// requestTimeout bounds how long a client may take to say where it wants to go.
const requestTimeout = 10 * time.Second

// Uplink serves HTTP CONNECT. It judges nothing: who may use it is a matter of NetworkPolicy.
func Uplink(ctx context.Context, listener net.Listener, dial Dial) error {
	return serve(ctx, listener, func(ctx context.Context, client net.Conn) error {
		return tunnel(ctx, client, dial)
	})
}

func tunnel(ctx context.Context, client net.Conn, dial Dial) error {
	if err := client.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return err
	}
	reader := bufio.NewReader(client)
	request, err := http.ReadRequest(reader)
	if err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	if request.Method != http.MethodConnect {
		return answer(client, http.StatusMethodNotAllowed)
	}
	if _, _, err := net.SplitHostPort(request.Host); err != nil {
		return answer(client, http.StatusBadRequest)
	}
	bounded, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	server, err := dial(bounded, "tcp", request.Host)
	if err != nil {
		if refusal := answer(client, http.StatusBadGateway); refusal != nil {
			return refusal
		}
		return err
	}
	if err := client.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = server.Close()
		return err
	}
	join(buffered{Conn: client, reader: reader}, server)
	return nil
}

func answer(client net.Conn, status int) error {
	_, err := fmt.Fprintf(client, "HTTP/1.1 %d %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		status, http.StatusText(status))
	return err
}

// buffered is a connection of which some was read ahead: a client that is in a hurry sends its first
// bytes together with the request.
type buffered struct {
	net.Conn
	reader *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.reader.Read(p) }

func (b buffered) CloseWrite() error {
	if half, ok := b.Conn.(halfCloser); ok {
		return half.CloseWrite()
	}
	return b.Close()
}
