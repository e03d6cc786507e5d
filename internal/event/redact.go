// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"
)

// WithText returns an error with the given text that wraps cause.
func WithText(text string, cause error) error { return &textError{text, cause} }

type textError struct {
	text  string
	cause error
}

func (e *textError) Error() string { return e.text }

func (e *textError) Unwrap() error { return e.cause }

// Redacted returns err with a text that is safe to log. err is from a store, a queue or a function
// of the user. The text of a KeyError, which quotes its object, names the type of the object instead.
func Redacted(err error) error { return rewrite(err, unkeyed) }

// RedactedAnswer returns err with a text that is safe to log. err is from a ListerWatcher. Decoders
// quote data that they cannot decode, and clients quote responses that are not valid. Their errors
// often have no type of their own, because apimachinery formats them into texts.
func RedactedAnswer(err error) error { return rewrite(err, answered) }

// rewrite returns err with the text that f makes of its text, or err itself if the text does not
// change.
func rewrite(err error, f func(err error, text string) string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if safe := f(err, text); safe != text {
		return WithText(safe, err)
	}
	return err
}

// keyMark is the beginning of the text of a KeyError. The object follows.
const keyMark = "couldn't create key for object "

// unkeyed returns text, the text of err, up to the first KeyError, and the type of that error's
// object.
func unkeyed(err error, text string) string {
	before, _, quotes := strings.Cut(text, keyMark)
	if !quotes {
		return text
	}
	text = before + "couldn't create key for an object"
	if key := (clientgo.KeyError{}); errors.As(err, &key) {
		text += fmt.Sprintf(" of type %T: %v", key.Obj, Redacted(key.Err))
	}
	return text
}

// answered returns text, the text of err, without quotes from a response that was not understood.
// The message of a Status that the server sent stays.
func answered(err error, text string) string {
	text = unkeyed(err, text)
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return unquoted(text)
	}
	if message := status.Status().Message; message != "" {
		text = strings.ReplaceAll(text, message, messageOf(err, status.Status()))
	}
	return Shortened(text)
}

// CauseWatchDecoding is the type of the cause that client-go's reader of a watch reports for an
// error of its connection or decoder. client-go has no constant for it.
const CauseWatchDecoding metav1.CauseType = "ClientWatchDecoding"

// messageOf returns the message of s, the Status in err. If a client made the Status from a response
// that was not valid, and its message quotes the response, messageOf returns another message.
func messageOf(err error, s metav1.Status) string {
	if broken, is := apierrors.StatusCause(err, CauseWatchDecoding); is {
		return unquoted(broken.Message)
	}
	cause, _ := apierrors.StatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
	switch body := cause.Message; {
	case body == "", body == "unknown": // client-go's text for an empty response
		return s.Message
	case strings.Contains(s.Message, body), strings.Contains(s.Message, strconv.Quote(body)):
		return fmt.Sprintf("status %d (%s): %d bytes of text that are not shown", s.Code, s.Reason, len(body))
	default:
		return s.Message
	}
}

var (
	// number matches the number, or the key of a map, that a decoder of JSON found instead of another
	// value.
	number = regexp.MustCompile(`(?s)\bunmarshal number (?:.*(into Go )|.*)`)
	// path matches the path of a value that a decoder of JSON could not convert: a type, its field, and the rest.
	path = regexp.MustCompile(`(?s)\binto Go struct field (\w+\.\w+)?(.*?) of type `)
	// plain matches the beginning of a text up to its first quotation mark. Apostrophes do not count,
	// nor do the quotes after some words, which have a URL, a kind, a version, the name of a
	// certificate or one character.
	plain = regexp.MustCompile(`^(?:\b(?:Get|(?:no|for|in|of) (?:kind|version|group|scheme)|because of|authority certificate) "[^"\\]*"|` +
		`Object '\w+'|character '\\?.'|\pL'[st]\b|[^"'` + "`])*")
)

// namesKeys reports whether the path in an error of encoding/json has keys of maps, as from Go 1.27 on.
var namesKeys = sync.OnceValue(func() bool {
	err := json.Unmarshal([]byte(`{"key":""}`), &map[string]int{})
	return strings.Contains(err.Error(), "key")
})

// unquoted returns text, shortened, up to its first quotation mark, and without numbers and keys of maps
// that a decoder quotes.
func unquoted(text string) string {
	text = Shortened(text)
	if namesKeys() {
		text = withoutKeys(text)
	}
	text = number.ReplaceAllString(text, "unmarshal number ... $1")
	if safe := plain.FindString(text); safe != text {
		return safe + `"..."`
	}
	return text
}

// withoutKeys removes all of a path but its first field: nothing tells the other fields from keys.
func withoutKeys(text string) string {
	at := path.FindStringSubmatchIndex(text)
	if at == nil || at[4] == at[5] {
		return text
	}
	last := strings.LastIndex(text, " of type ") // a key may have these words
	return text[:at[4]] + "..." + text[last:]
}

// maxErrorText is the most bytes of the text of an error from outside. Those of servers and clients
// have 100 to 400 bytes.
const maxErrorText = 1 << 10

// Shortened truncates a text that is too long.
func Shortened[S ~string](text S) S {
	if len(text) <= maxErrorText {
		return text
	}
	beginning := strings.ToValidUTF8(string(text[:maxErrorText]), "")
	return S(fmt.Sprintf("%s... (%d bytes more)", beginning, len(text)-maxErrorText))
}

// maxRetained is the size, in bytes, of the largest error that is retained as it is. An error is
// retained until the next one occurs, perhaps for the life of the process. Errors of servers and
// clients have less than a tenth of that; one that quotes a response may have 100 MB.
const maxRetained = 4 << 10

// Retainable returns an error to retain instead of err: err itself if it is small, or an error with the
// same text, shortened if necessary, that wraps the causes of err without objects and large errors.
// errors.Is and errors.As find all other causes. They also find KeyErrors, without their objects, and
// API errors with the reason, code, delay and the beginning of the message.
func Retainable(err error) error {
	if !isLarge(err) {
		return err
	}
	switch e := err.(type) {
	case clientgo.KeyError:
		return clientgo.KeyError{Obj: fmt.Sprintf("of type %T", e.Obj), Err: Retainable(e.Err)}
	case *apierrors.StatusError:
		return statusWithout(e)
	}
	var causes []error
	for _, cause := range causesOf(err) {
		causes = append(causes, Retainable(cause))
	}
	return WithText(Shortened(err.Error()), errors.Join(causes...))
}

// isLarge reports whether err, or an error that it wraps, has an object or more than maxRetained
// bytes.
func isLarge(err error) bool {
	switch e := err.(type) {
	case nil:
		return false
	case clientgo.KeyError:
		return true
	case *apierrors.StatusError:
		return e.ErrStatus.Size() > maxRetained
	default:
		return len(err.Error()) > maxRetained || slices.ContainsFunc(causesOf(err), isLarge)
	}
}

// causesOf returns the errors that err wraps directly.
func causesOf(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return nil
}

// statusWithout returns e with the fields that a reflector evaluates and the beginning of its texts.
func statusWithout(e *apierrors.StatusError) *apierrors.StatusError {
	said := e.ErrStatus
	rest := metav1.Status{Status: metav1.StatusFailure, Reason: Shortened(said.Reason), Code: said.Code, Message: Shortened(said.Message)}
	if said.Details != nil {
		rest.Details = &metav1.StatusDetails{RetryAfterSeconds: said.Details.RetryAfterSeconds}
	}
	return &apierrors.StatusError{ErrStatus: rest}
}
