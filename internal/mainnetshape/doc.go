// Package mainnetshape generates flat state that is shaped like that of Ethereum's mainnet, at any
// scale: a measurement on a laptop then says something about the real thing.
//
// # What is measured, what is assumed
//
// From a build of all storage tries of mainnet with timings of each: 26,311,772 accounts with
// storage, 1,552,108,325 slots, the largest trie 159.6 M of them, 30 tries that took more than five
// seconds at 1.5 us a leaf (3.3 M leaves and more), some 70 % of the tries with one slot or two.
// The curves between those figures are assumptions:
//
//   - the 30 huge tries fall from the largest to 3.3 M by a power of their rank;
//   - two thirds of the smallest tries have one slot, one third two;
//   - the middle follows a power law, cut off at three slots below and at the smallest huge trie
//     above, whose exponent is solved for so that the slots in all come out;
//   - 300 M accounts in all, so that 8.8 % of them have storage;
//   - lengths of slot values, nonces and balances: see value.go.
//
// At a scale of 1/1000 the numbers of accounts and slots are a thousandth of these, and the share
// of the huge tries stays what it is: 30 tries, the largest with a tenth of all leaves. Below
// 1/1000 or so the shape has to give: there are too few tries of the middle to hold their share
// below the smallest huge one, and some become larger than that.
//
// # How
//
// Everything follows from a [Shape] and its seed, and nothing is held in memory. The sizes are a
// function of the rank of a trie; a permutation of the accounts says which rank each one has. Keys
// come in ascending order and yet uniformly distributed: with n of them to come, the gap to the
// next is that to the least of n random numbers. Each account's slots have a generator of their
// own, so that they can be made again, from any account on.
package mainnetshape
