// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
// of the user. A KeyError, which quotes its object, is replaced by the type of the object.
func Redacted(err error) error { return rewrite(err, withoutKeyed) }

// RedactedAnswer returns err with a text that is safe to log. err is from a ListerWatcher. Decoders
// quote data that they cannot decode, and clients quote responses that are not valid.
func RedactedAnswer(err error) error { return rewrite(err, withoutAnswer) }

// rewrite returns err with the text that f makes of its text, or err itself if the text does not
// change.
func rewrite(err error, f func(err error, text string) string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	rewritten := f(err, text)
	if rewritten == text {
		return err
	}
	return WithText(strings.Clone(rewritten), err) // do not retain the memory of the original text
}

// eachError calls visit for err and for all errors that it wraps, outermost first.
func eachError(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	for _, cause := range causesOf(err) {
		eachError(cause, visit)
	}
}

// causesOf returns the errors that err wraps directly.
func causesOf(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			return []error{cause}
		}
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return nil
}

// withoutKeyed returns text, the text of err, with objects quoted by a KeyError replaced by their
// types.
func withoutKeyed(err error, text string) string {
	type quote struct{ old, new string }
	var quotes []quote
	eachError(err, func(e error) {
		if key, ok := e.(clientgo.KeyError); ok {
			quotes = append(quotes, quote{key.Error(), fmt.Sprintf("couldn't create key for an object of type %T: %v", key.Obj, key.Err)})
		}
	})
	slices.SortFunc(quotes, func(a, b quote) int { return len(b.old) - len(a.old) }) // one may be part of another
	for _, q := range quotes {
		text = strings.ReplaceAll(text, q.old, q.new)
	}
	return text
}

// withoutAnswer returns text, the text of err, without quotes from a response that was not
// understood. It keeps the message of a Status that the server sent, and the error of a transport
// whose request got no response.
func withoutAnswer(err error, text string) string {
	text = withoutUntyped(withoutKeyed(err, text))
	var status apierrors.APIStatus
	var transport *url.Error
	switch {
	case errors.As(err, &status):
		text = replaced(text, status.Status().Message, withoutBody(status.Status()))
	case !errors.As(err, &transport) || transport.Op == "parse":
		text = withoutQuotes(text)
	case strings.Contains(transport.Err.Error(), "malformed"): // a response that is not HTTP
		text = replaced(text, transport.Err.Error(), withoutQuotes(transport.Err.Error()))
	}
	return Shortened(text)
}

func replaced(text, old, new string) string {
	if old == "" {
		return text
	}
	return strings.ReplaceAll(text, old, new)
}

// withoutBody returns the message of a Status. If a client made the Status from a response that was
// not valid, the message quotes the response, and withoutBody removes the quote.
func withoutBody(s metav1.Status) string {
	body, instead := bodyIn(s)
	const nothing = "unknown" // client-go's text for an empty response
	if body == "" || body == nothing || body == instead {
		return s.Message
	}
	if rest, begins := strings.CutPrefix(s.Message, body); begins {
		return instead + rest
	}
	message := strings.Replace(s.Message, "("+strconv.Quote(body)+")", "("+instead+")", 1)
	if message == s.Message && (strings.Contains(message, body) || strings.Contains(message, strconv.Quote(body))) {
		return fmt.Sprintf("status %d (%s): %s", s.Code, s.Reason, instead)
	}
	return message
}

// CauseWatchDecoding is the type of the cause that client-go's reader of a watch reports for an
// error of its connection or decoder. client-go has no constant for it.
const CauseWatchDecoding metav1.CauseType = "ClientWatchDecoding"

// bodyIn returns the part of a Status made by a client that quotes a response, and a replacement.
func bodyIn(s metav1.Status) (body, instead string) {
	if s.Details == nil {
		return "", ""
	}
	for _, cause := range s.Details.Causes {
		switch cause.Type {
		case CauseWatchDecoding:
			return cause.Message, withoutQuotes(withoutUntyped(cause.Message))
		case metav1.CauseTypeUnexpectedServerResponse:
			body, instead = cause.Message, fmt.Sprintf("%d bytes of text that are not shown", len(cause.Message))
		}
	}
	return body, instead
}

var (
	// number matches the number that a decoder found instead of another value.
	number = regexp.MustCompile(`\bnumber -?[0-9][-+.0-9eE]*`)
	// aboutTypes matches errors at the end of a text that quote only kinds and versions, which are
	// safe to log.
	aboutTypes = regexp.MustCompile(strings.ReplaceAll(`(no kind Q is registered for (version|the internal version of group) Q in scheme Q|`+
		`no version Q has been registered in scheme Q|no matches for kind Q in version Q)$`, "Q", `"([^"\\]|\\.){0,200}"`))
)

// withoutQuotes returns text without everything between its first and last quotation mark,
// regardless of the kind of the quotes, and without numbers. It truncates a very long text.
func withoutQuotes(text string) string {
	const most = 16 << 10 // bytes to examine; errors may have 100 MB
	text, cut := text[:min(len(text), most)], len(text) > most
	types := ""
	if at := aboutTypes.FindStringIndex(text); at != nil {
		text, types = text[:at[0]], text[at[0]:]
	}
	if first := firstQuote(text); first >= 0 {
		rest := ""
		if last := strings.LastIndexAny(text, quotationMarks); last > first && !cut {
			rest = text[last+1:]
		}
		text = text[:first] + `"..."` + rest
	}
	return number.ReplaceAllString(text, "number ...") + types
}

const quotationMarks = "\"`'"

// firstQuote returns the index of the first quotation mark that begins a quote, or -1. Apostrophes
// in words and single quoted characters, which decoders report, do not count.
func firstQuote(text string) int {
	for at := 0; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"' || c == '`':
			return at
		case c != '\'' || at > 0 && strings.IndexByte(" (:=,[", text[at-1]) < 0:
			continue
		}
		_, _, rest, err := strconv.UnquoteChar(text[at+1:], '\'')
		if err != nil || !strings.HasPrefix(rest, "'") {
			return at
		}
		at = len(text) - len(rest)
	}
	return -1
}

// missingMark precedes the object in the text of apimachinery's error about an object without kind
// or version.
const missingMark = " is missing in '"

// withoutUntyped returns text without an object that has no kind or version.
func withoutUntyped(text string) string {
	before, _, quotes := strings.Cut(text, missingMark)
	if !quotes {
		return text
	}
	return before + " is missing, in an object that is not shown"
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
// errors.Is and errors.As find all other causes. They also find API errors and KeyErrors that had
// to be shortened.
func Retainable(err error) error {
	if err == nil {
		return nil
	}
	if rest, cut := keep(err); cut {
		return WithText(strings.Clone(Shortened(err.Error())), rest)
	}
	return err
}

// keep returns err, or the rest of it if a part had to be removed.
func keep(err error) (rest error, cut bool) {
	switch e := err.(type) {
	case clientgo.KeyError:
		return keyErrorWithout(e), true
	case *apierrors.StatusError:
		if e.ErrStatus.Size() <= maxRetained {
			return err, false
		}
		return statusWithout(e), true
	}
	large := len(err.Error()) > maxRetained
	switch {
	case large && runtime.IsMissingKind(err):
		return runtime.NewMissingKindErr("..."), true
	case large && runtime.IsMissingVersion(err):
		return runtime.NewMissingVersionErr("..."), true
	}
	var causes []error
	for _, cause := range causesOf(err) {
		if cause != nil {
			rest, less := keep(cause)
			causes, cut = append(causes, rest), cut || less
		}
	}
	switch {
	case !cut && !large:
		return err, false
	case len(causes) == 0:
		return fmt.Errorf("an error of type %T that was too large to be kept", err), true
	default:
		return WithText(strings.Clone(Shortened(err.Error())), errors.Join(causes...)), true
	}
}

// keyErrorWithout returns e without its object.
func keyErrorWithout(e clientgo.KeyError) clientgo.KeyError {
	cause := errors.New("no key")
	if e.Err != nil {
		cause, _ = keep(e.Err)
	}
	return clientgo.KeyError{Obj: fmt.Sprintf("of type %T", e.Obj), Err: cause}
}

// statusWithout returns e with the fields that clients evaluate and the beginning of its texts.
func statusWithout(e *apierrors.StatusError) *apierrors.StatusError {
	said := e.ErrStatus
	rest := metav1.Status{Status: metav1.StatusFailure, Reason: Shortened(said.Reason), Code: said.Code, Message: Shortened(said.Message)}
	if d := said.Details; d != nil {
		rest.Details = &metav1.StatusDetails{Group: Shortened(d.Group), Kind: Shortened(d.Kind), RetryAfterSeconds: d.RetryAfterSeconds}
		for _, cause := range d.Causes[:min(len(d.Causes), 8)] {
			rest.Details.Causes = append(rest.Details.Causes, metav1.StatusCause{Type: Shortened(cause.Type)})
		}
	}
	return &apierrors.StatusError{ErrStatus: rest}
}
