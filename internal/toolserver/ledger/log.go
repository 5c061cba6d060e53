// SPDX-License-Identifier: Apache-2.0

//go:build linux

package ledger

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/durable"
)

// Kinds of a record.
const (
	recordEpoch    = "epoch"
	recordStarted  = "started"
	recordFinished = "finished"
	// recordLeft is of a call that leaves a program in the background, recordEnded of the end of that.
	recordLeft  = "left"
	recordEnded = "ended"
)

// record is one line of the ledger's file.
type record struct {
	Kind   string          `json:"kind"`
	Epoch  int64           `json:"epoch,omitempty"`
	ID     string          `json:"id,omitempty"`
	Digest string          `json:"digest,omitempty"`
	Key    string          `json:"key,omitempty"`
	Tool   string          `json:"tool,omitempty"`
	Time   time.Time       `json:"time"`
	Result *toolapi.Result `json:"result,omitempty"`
	// Program is of recordLeft and recordEnded.
	Program *toolapi.Program `json:"program,omitempty"`
}

// span is a part of the ledger's file.
type span struct{ offset, length int64 }

// ErrDamaged means that the file may differ from what was written to it.
var ErrDamaged = errors.New("the ledger is damaged")

// ahead is how many zeros are written behind a record for which the file must grow. A record in their place is on disk sooner than one that the
// file grows for: the filesystem writes nothing else with it.
const ahead = 64 << 10

// log is the file of a ledger: JSON lines that are only ever added, and zeros behind them. A record counts once its line is complete
// and synced, and each is synced before the next is written, so only the last line can be torn.
type log struct {
	file File
	// size is the end of the last record that counts, and room that of the zeros behind it.
	size, room int64
	// broken is set, and damaged closed, when it is unknown what the file holds.
	broken  error
	damaged chan struct{}
}

// File is the part of a file's methods that the log needs.
type File interface {
	io.WriterAt
	io.ReaderAt
	io.Closer
	Sync() error
	// SyncData is Sync for a write that changed no more than bytes in the file.
	SyncData() error
	Truncate(size int64) error
}

// diskFile is a File of the filesystem.
type diskFile struct{ *os.File }

// SyncData implements File.
func (f diskFile) SyncData() error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return err
		}
	}
}

// openLedgerLog opens the file at path, passes each of its records to replay, and cuts a torn last line off.
func openLedgerLog(path string, replay func(record, span) error) (*log, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	size, err := readLedger(file, replay)
	if err == nil {
		err = file.Truncate(size)
	}
	if err == nil {
		err = errors.Join(file.Sync(), durable.SyncDir(filepath.Dir(path)))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the ledger: %w", err), file.Close())
	}
	return &log{file: diskFile{file}, size: size, room: size, damaged: make(chan struct{})}, nil
}

// readLedger returns the end of the last good record. A bad record that is not the last line is an error: records after it would be lost,
// and with them the knowledge of the calls that ran.
func readLedger(file *os.File, replay func(record, span) error) (int64, error) {
	// Two servers on one ledger would both run a call.
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return 0, fmt.Errorf("another process holds it: %w", err)
	}
	reader := bufio.NewReader(file)
	var size int64
	for n := 1; ; n++ {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF {
			return size, nil // A line without an end was never acknowledged.
		}
		if err != nil {
			return 0, err
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			// A record that was being written may be there in part, its end without its beginning, too.
			if last, readErr := onlyZeros(reader); readErr != nil || last {
				return size, readErr
			}
			return 0, fmt.Errorf("line %d is damaged: %w", n, err)
		}
		if err := replay(r, span{size, int64(len(line))}); err != nil {
			return 0, fmt.Errorf("line %d: %w", n, err)
		}
		size += int64(len(line))
	}
}

// onlyZeros reads the rest of a file, and reports whether no record can be in it.
func onlyZeros(reader *bufio.Reader) (bool, error) {
	for {
		b, err := reader.ReadByte()
		switch {
		case err == io.EOF:
			return true, nil
		case err != nil || b != 0:
			return false, err
		}
	}
}

// append writes one record, and returns its position when it is on disk.
func (l *log) append(r record) (span, error) {
	if l.broken != nil {
		return span{}, l.broken
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return span{}, fmt.Errorf("encode a ledger record: %w", err)
	}
	at := span{l.size, int64(line.Len())}
	sync := l.file.SyncData
	if at.offset+at.length > l.room {
		sync = l.file.Sync
		// A disk that has no room for the zeros may have room for the record.
		if err := l.write(append(line.Bytes(), make([]byte, ahead)...)); l.broken != nil {
			return span{}, l.broken
		} else if err != nil {
			if err := l.write(line.Bytes()); err != nil {
				return span{}, err
			}
		}
	} else if err := l.write(line.Bytes()); err != nil {
		return span{}, err
	}
	if err := sync(); err != nil {
		// After a failed sync the kernel may have dropped the data, and a second sync would report success.
		return span{}, l.fail(err)
	}
	l.size += at.length
	return at, nil
}

// write writes content behind the last record, whole or not at all.
func (l *log) write(content []byte) error {
	if _, err := l.file.WriteAt(content, l.size); err != nil {
		// A part of the line may be there. Without cutting it off, it would be behind the next record.
		if truncErr := l.file.Truncate(l.size); truncErr != nil {
			return l.fail(errors.Join(err, truncErr))
		}
		l.room = l.size
		return fmt.Errorf("write the ledger: %w", err)
	}
	l.room = max(l.room, l.size+int64(len(content)))
	return nil
}

func (l *log) fail(err error) error {
	l.broken = fmt.Errorf("%w: %w", ErrDamaged, err)
	close(l.damaged)
	return l.broken
}

// result reads the record of a result again.
func (l *log) result(at span) (*toolapi.Result, error) {
	line := make([]byte, at.length)
	if _, err := l.file.ReadAt(line, at.offset); err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	if r.Result == nil {
		return nil, errors.New("read the ledger: there is another record where the result was")
	}
	return r.Result, nil
}

func (l *log) close() error { return l.file.Close() }
