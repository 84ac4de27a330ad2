package storageactor

import (
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common"

	"github.com/balsa-sync/balsa/messages"
)

// A request that was in the mailbox when the StorageActor was restarted is not in the count of its
// requester, who sends everything again: taken, it would have what follows refused.
func TestARequestOfTheIncarnationBeforeTakesNoCredit(t *testing.T) {
	o := Options{Workers: 1, Credit: 2}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	c := newCore(o, 2)
	ask := func(request, incarnation uint64) []any {
		first := common.Hash{byte(request)}
		return c.step(time.Unix(1, 0), &messages.BuildStorage{
			Request: request, From: first, To: common.Hash{byte(request), 0xff}, Incarnation: incarnation,
			Accounts: []messages.StorageAccount{{Account: first}, {Account: common.Hash{byte(request), 1}}},
			ReplyTo:  &actor.PID{Id: "requester"},
		})
	}
	if effects := ask(2, 1); len(effects) != 0 {
		t.Fatalf("a request of the incarnation before: %+v", effects)
	}
	effects := ask(1, 2)
	for _, e := range effects {
		if a, ok := e.(answer); ok {
			t.Fatalf("answered with %+v", a.msg)
		}
	}
	if len(effects) == 0 {
		t.Fatal("the request is not being worked on")
	}
}
