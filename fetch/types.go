package fetch

import "github.com/urlget/urlget/fetch/driver"

// These types are shared with drivers. Package driver documents what concerns only drivers.
type (
	// A Request is one operation on one URL.
	Request = driver.Request
	// An Op is an operation on a resource.
	Op = driver.Op
	// A Range is a part of a resource, in bytes.
	Range = driver.Range
	// A Validator identifies a version of a resource.
	Validator = driver.Validator
	// Meta describes a resource.
	Meta = driver.Meta
	// A Digest is a digest that a peer stated.
	Digest = driver.Digest
	// A Reply is a server's status, such as "226 Transfer complete" or "200 OK".
	Reply = driver.Reply
	// A Kind is the kind of a Response: data, a listing, a session.
	Kind = driver.Kind
	// An Entry is a member or link: a file, menu item, article or anchor.
	Entry = driver.Entry
	// An EntryKind is the kind of resource that an Entry leads to.
	EntryKind = driver.EntryKind

	// Error is the type of all errors from a Client.
	Error = driver.Error
	// A Code classifies an error and is itself an error, for errors.Is.
	Code = driver.Code
	// A Reason is the machine-readable reason why a request was refused or what it lacks.
	Reason = driver.Reason

	// A Form is a list of questions that a server asks before it sends the resource.
	Form = driver.Form
	// A Field is one question of a Form.
	Field = driver.Field
	// A FieldKind is the kind of input that a Field expects.
	FieldKind = driver.FieldKind
	// A FormError is the cause of an ErrNeedForm error.
	FormError = driver.FormError

	// A Terminal is a Session that accepts the type and size of the user's terminal.
	Terminal = driver.Terminal
	// A Messenger is a Session that consists of messages.
	Messenger = driver.Messenger
	// A Message is one message of a Messenger.
	Message = driver.Message

	// A Credential proves an identity.
	Credential = driver.Credential
	// A Challenge is a server's request for a Credential.
	Challenge = driver.Challenge
	// Identity identifies the client to servers.
	Identity = driver.Identity
	// Timeouts limit how long a client waits for a server.
	Timeouts = driver.Timeouts

	// A Loader creates drivers for a client and registers them.
	Loader = driver.Loader
	// A Scheme describes a registered scheme.
	Scheme = driver.Scheme
)

// The operations.
const (
	OpGet  = driver.OpGet
	OpStat = driver.OpStat
	OpList = driver.OpList
	OpDial = driver.OpDial
)

// The kinds of responses.
const (
	KindObject  = driver.KindObject
	KindListing = driver.KindListing
	KindSession = driver.KindSession
	KindNone    = driver.KindNone
)

// The kinds of entries.
const (
	EntryObject  = driver.EntryObject
	EntryListing = driver.EntryListing
	EntrySearch  = driver.EntrySearch
	EntrySession = driver.EntrySession
	EntryText    = driver.EntryText
	EntryError   = driver.EntryError
)

// The kinds of fields.
const (
	FieldNote   = driver.FieldNote
	FieldLine   = driver.FieldLine
	FieldSecret = driver.FieldSecret
	FieldLines  = driver.FieldLines
	FieldYesNo  = driver.FieldYesNo
	FieldChoice = driver.FieldChoice
	FieldFile   = driver.FieldFile
	FieldSaveAs = driver.FieldSaveAs
)

// The codes of errors.
const (
	ErrURL            = driver.ErrURL
	ErrRequest        = driver.ErrRequest
	ErrScheme         = driver.ErrScheme
	ErrNoServer       = driver.ErrNoServer
	ErrNotRetrievable = driver.ErrNotRetrievable
	ErrInteractive    = driver.ErrInteractive
	ErrNeedSearch     = driver.ErrNeedSearch
	ErrNeedForm       = driver.ErrNeedForm
	ErrPolicy         = driver.ErrPolicy
	ErrNetwork        = driver.ErrNetwork
	ErrTLS            = driver.ErrTLS
	ErrAuth           = driver.ErrAuth
	ErrNotFound       = driver.ErrNotFound
	ErrRefused        = driver.ErrRefused
	ErrBusy           = driver.ErrBusy
	ErrServer         = driver.ErrServer
	ErrProtocol       = driver.ErrProtocol
	ErrRedirect       = driver.ErrRedirect
	ErrRange          = driver.ErrRange
	ErrNotModified    = driver.ErrNotModified
	ErrTruncated      = driver.ErrTruncated
	ErrChanged        = driver.ErrChanged
	ErrChecksum       = driver.ErrChecksum
	ErrTooLarge       = driver.ErrTooLarge
	ErrFile           = driver.ErrFile
	ErrInterrupted    = driver.ErrInterrupted
)

// CodeOf returns the code of err, or "" if it has none.
func CodeOf(err error) Code { return driver.CodeOf(err) }

// Printable returns s with all characters escaped that could control a terminal or deceive a
// reader. Text from servers must be passed through Printable before it is shown.
func Printable(s string) string { return driver.Printable(s) }
