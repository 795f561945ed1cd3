// Package exchange connects a client with the connections of its drivers during an exchange: one
// request passed to a driver, until its body is closed. The context carries the Exchange, so that
// packages fetch and fetch/driver need not import each other.
package exchange

import (
	"context"
	"net"
)

// An Exchange is the client's side of an exchange, as seen by connections.
type Exchange interface {
	// Dialed is called with each connection that is made for the exchange.
	Dialed(Conn)
	// Served is called with each connection, new or reused, that the driver has chosen.
	Served(Conn)
	// Recording returns the recording of the exchange, or nil.
	Recording() *Recording
}

// A Conn is a connection as seen by the client.
type Conn interface {
	RemoteAddr() net.Addr
	// AnnouncesEnd reports whether a truncated stream can be detected.
	AnnouncesEnd() bool
	// CutOff returns the error of a stream that ended without an announcement, or nil.
	CutOff() error
}

// A Bounded is a writer that accepts at most Room bytes.
type Bounded interface{ Room() int64 }

type key struct{}

// With returns a context for the exchange x.
func With(ctx context.Context, x Exchange) context.Context { return context.WithValue(ctx, key{}, x) }

// Of returns the exchange of ctx, or nil.
func Of(ctx context.Context) Exchange {
	x, _ := ctx.Value(key{}).(Exchange)
	return x
}
